// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/clones.h"
#include "kernels/reference/layer_ops.h"

namespace gg {
namespace {

struct Range {
  int64_t begin, end;
};

// The output positions whose input position out * stride + k - pad lies inside 0 .. in-1.
Range InsideImage(int64_t out, int64_t in, int64_t k, int64_t stride, int64_t pad) {
  const auto ceil_div = [stride](int64_t a) { return a <= 0 ? 0 : (a + stride - 1) / stride; };
  const int64_t begin = std::min(out, ceil_div(pad - k));
  return {begin, std::max(begin, std::min(out, ceil_div(in + pad - k)))};
}

// Calls row(x offset of the first input, y offset of the first output, count, w offset) for every
// run of outputs in a line, of image n, that one weight touches. All three passes are this loop
// with another body.
template <typename Row>
void ForEachRow(const Conv2dDesc& d, int64_t n, int64_t o, int64_t c, const Row& row) {
  const int64_t out_h = d.out_height(), out_w = d.out_width();
  const int64_t x_plane = (n * d.in_channels + c) * d.in_height * d.in_width;
  const int64_t y_plane = (n * d.out_channels + o) * out_h * out_w;
  const int64_t w_plane = (o * d.in_channels + c) * d.kernel_height * d.kernel_width;
  for (int64_t kh = 0; kh < d.kernel_height; ++kh) {
    const Range rows = InsideImage(out_h, d.in_height, kh, d.stride_height, d.pad_height);
    for (int64_t kw = 0; kw < d.kernel_width; ++kw) {
      const Range cols = InsideImage(out_w, d.in_width, kw, d.stride_width, d.pad_width);
      const int64_t w_at = w_plane + kh * d.kernel_width + kw;
      for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
        const int64_t ih = oh * d.stride_height + kh - d.pad_height;
        const int64_t iw = cols.begin * d.stride_width + kw - d.pad_width;
        row(x_plane + ih * d.in_width + iw, y_plane + oh * out_w + cols.begin,
            cols.end - cols.begin, w_at);
      }
    }
  }
}

GG_VECTOR_CLONES
void GatherRow(int64_t n, float w, const float* x, int64_t stride, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += w * x[i * stride];
}

GG_VECTOR_CLONES
void ScatterRow(int64_t n, float w, const float* dy, float* dx, int64_t stride) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i * stride] += w * dy[i];
}

GG_VECTOR_CLONES
float DotRow(int64_t n, const float* dy, const float* x, int64_t stride) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += dy[i] * x[i * stride];
  return sum;
}

class ReferenceConv2d : public Conv2d {
 public:
  explicit ReferenceConv2d(const Conv2dDesc& desc) : d_(desc), sizes_(desc) {}

  absl::Status Forward(Stream&, ConstFlat x, ConstFlat w, ConstFlat b, Flat y) override {
    GG_RETURN_IF_ERROR(CheckForward("Conv2d", sizes_, x, w, b, y));
    const int64_t plane = d_.out_height() * d_.out_width();
    for (int64_t n = 0; n < d_.batch; ++n) {
      for (int64_t o = 0; o < d_.out_channels; ++o) {
        std::fill_n(y.data() + (n * d_.out_channels + o) * plane, plane, b[o]);
        for (int64_t c = 0; c < d_.in_channels; ++c) {
          ForEachRow(d_, n, o, c, [&](int64_t xi, int64_t yi, int64_t count, int64_t wi) {
            GatherRow(count, w[wi], x.data() + xi, d_.stride_width, y.data() + yi);
          });
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status BackwardData(Stream&, ConstFlat dy, ConstFlat w, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckBackwardData("Conv2d", sizes_, dy, w, dx));
    std::fill(dx.begin(), dx.end(), 0.0f);
    for (int64_t n = 0; n < d_.batch; ++n) {
      for (int64_t o = 0; o < d_.out_channels; ++o) {
        for (int64_t c = 0; c < d_.in_channels; ++c) {
          ForEachRow(d_, n, o, c, [&](int64_t xi, int64_t yi, int64_t count, int64_t wi) {
            ScatterRow(count, w[wi], dy.data() + yi, dx.data() + xi, d_.stride_width);
          });
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dw, Flat db) override {
    GG_RETURN_IF_ERROR(CheckBackwardParams("Conv2d", sizes_, x, dy, dw, db));
    std::fill(dw.begin(), dw.end(), 0.0f);
    std::fill(db.begin(), db.end(), 0.0f);
    const int64_t plane = d_.out_height() * d_.out_width();
    for (int64_t n = 0; n < d_.batch; ++n) {
      for (int64_t o = 0; o < d_.out_channels; ++o) {
        const float* dy_plane = dy.data() + (n * d_.out_channels + o) * plane;
        double sum = 0;
        for (int64_t i = 0; i < plane; ++i) sum += dy_plane[i];
        db[o] += static_cast<float>(sum);
        for (int64_t c = 0; c < d_.in_channels; ++c) {
          ForEachRow(d_, n, o, c, [&](int64_t xi, int64_t yi, int64_t count, int64_t wi) {
            dw[wi] += DotRow(count, dy.data() + yi, x.data() + xi, d_.stride_width);
          });
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  const Conv2dDesc d_;
  const Conv2dSizes sizes_;
};

}  // namespace

std::unique_ptr<Conv2d> MakeReferenceConv2d(const Conv2dDesc& desc) {
  return std::make_unique<ReferenceConv2d>(desc);
}

}  // namespace gg
