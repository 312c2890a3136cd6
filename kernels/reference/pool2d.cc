// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/host_buffer.h"
#include "kernels/reference/layer_ops.h"

namespace gg {
namespace {

// The part of a window that lies inside the image; never empty (CheckDesc).
struct Window {
  int64_t top, bottom, left, right;
  int64_t area() const { return (bottom - top) * (right - left); }
};

Window WindowAt(const Pool2dDesc& d, int64_t oh, int64_t ow) {
  const int64_t top = oh * d.stride_height - d.pad_height;
  const int64_t left = ow * d.stride_width - d.pad_width;
  return {std::max<int64_t>(top, 0), std::min(top + d.kernel_height, d.in_height),
          std::max<int64_t>(left, 0), std::min(left + d.kernel_width, d.in_width)};
}

// Calls fn(y index, x offset of the plane, window) for every output.
template <typename Fn>
void ForEachWindow(const Pool2dDesc& d, const Fn& fn) {
  int64_t yi = 0;
  for (int64_t plane = 0; plane < d.batch * d.channels; ++plane) {
    for (int64_t oh = 0; oh < d.out_height(); ++oh) {
      for (int64_t ow = 0; ow < d.out_width(); ++ow, ++yi) {
        fn(yi, plane * d.in_height * d.in_width, WindowAt(d, oh, ow));
      }
    }
  }
}

class ReferenceMaxPool : public Pool2d {
 public:
  ReferenceMaxPool(const Pool2dDesc& desc, std::unique_ptr<Buffer> winners)
      : d_(desc),
        sizes_(desc),
        winners_buffer_(std::move(winners)),
        winners_(static_cast<int64_t*>(winners_buffer_->data())) {}

  absl::Status Forward(Stream&, ConstFlat x, Flat y) override {
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Forward: x", x.size(), sizes_.x));
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Forward: y", y.size(), sizes_.y));
    ForEachWindow(d_, [&](int64_t yi, int64_t plane, const Window& win) {
      int64_t best = plane + win.top * d_.in_width + win.left;
      for (int64_t h = win.top; h < win.bottom; ++h) {
        for (int64_t w = win.left; w < win.right; ++w) {
          const int64_t at = plane + h * d_.in_width + w;
          // The first of equal values wins; NaN wins over everything, so that a diverged run shows.
          if (x[at] > x[best] || std::isnan(x[at])) best = at;
        }
      }
      winners_[yi] = best;
      y[yi] = x[best];
    });
    return absl::OkStatus();
  }

  absl::Status Backward(Stream&, ConstFlat dy, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Backward: dy", dy.size(), sizes_.y));
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Backward: dx", dx.size(), sizes_.x));
    std::fill(dx.begin(), dx.end(), 0.0f);
    for (size_t i = 0; i < dy.size(); ++i) dx[winners_[i]] += dy[i];
    return absl::OkStatus();
  }

 private:
  const Pool2dDesc d_;
  const Pool2dSizes sizes_;
  const std::unique_ptr<Buffer> winners_buffer_;
  int64_t* const winners_;  // index in x of each output's maximum
};

class ReferenceAveragePool : public Pool2d {
 public:
  explicit ReferenceAveragePool(const Pool2dDesc& desc) : d_(desc), sizes_(desc) {}

  absl::Status Forward(Stream&, ConstFlat x, Flat y) override {
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Forward: x", x.size(), sizes_.x));
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Forward: y", y.size(), sizes_.y));
    ForEachWindow(d_, [&](int64_t yi, int64_t plane, const Window& win) {
      float sum = 0;
      for (int64_t h = win.top; h < win.bottom; ++h) {
        for (int64_t w = win.left; w < win.right; ++w) sum += x[plane + h * d_.in_width + w];
      }
      y[yi] = sum / static_cast<float>(win.area());
    });
    return absl::OkStatus();
  }

  absl::Status Backward(Stream&, ConstFlat dy, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Backward: dy", dy.size(), sizes_.y));
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Backward: dx", dx.size(), sizes_.x));
    std::fill(dx.begin(), dx.end(), 0.0f);
    ForEachWindow(d_, [&](int64_t yi, int64_t plane, const Window& win) {
      const float share = dy[yi] / static_cast<float>(win.area());
      for (int64_t h = win.top; h < win.bottom; ++h) {
        for (int64_t w = win.left; w < win.right; ++w) dx[plane + h * d_.in_width + w] += share;
      }
    });
    return absl::OkStatus();
  }

 private:
  const Pool2dDesc d_;
  const Pool2dSizes sizes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Pool2d>> MakeReferencePool2d(const Pool2dDesc& desc) {
  if (desc.kind == PoolKind::kAverage) return std::make_unique<ReferenceAveragePool>(desc);
  GG_ASSIGN_OR_RETURN(auto winners, AllocateHost(Pool2dSizes(desc).y * sizeof(int64_t)));
  return std::make_unique<ReferenceMaxPool>(desc, std::move(winners));
}

}  // namespace gg
