// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/batch_conv2d.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/host_buffer.h"
#include "kernels/onednn/batch_kernels.h"

namespace gg::onednn {
namespace {

int64_t RoundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// From which factor of useless work oneDNN's blocks of 16 channels lose.
constexpr double kMinWaste = 1.5;

// Calls fn(0) .. fn(n-1), each once, on the device's threads.
void ForEach(int threads, int64_t n, absl::FunctionRef<void(int64_t)> fn) {
  if (threads == 1) {
    for (int64_t i = 0; i < n; ++i) fn(i);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) fn(i);
}

// An image of one group of samples as vectors, with zero columns: `pad` left, and as many as there
// are right.
struct VectorImage {
  int64_t channels, height, width, padded_width, pad;
  int64_t floats() const { return channels * height * padded_width * kLanes; }
  // Without padding the lines follow each other: one long run instead of many short ones.
  int64_t rows() const { return padded_width == width ? 1 : channels * height; }
  int64_t run() const { return padded_width == width ? channels * height * width : width; }

  // The group's samples begin at `image`. The padding is zero already and stays so.
  void Load(const float* image, float* vectors) const {
    ToVectors(image, channels * height * width, rows(), run(), width, padded_width,
              vectors + pad * kLanes);
  }
  void Store(const float* vectors, float* image) const {
    FromVectors(vectors + pad * kLanes, channels * height * width, rows(), run(), padded_width,
                width, image);
  }
};

class BatchConv2d : public Conv2d {
 public:
  BatchConv2d(const Context& context, const Conv2dDesc& d)
      : context_(context),
        sizes_(d),
        groups_(d.batch / kLanes),
        taps_(d.kernel_height * d.kernel_width),
        x_{d.in_channels, d.in_height, d.in_width, d.in_width + 2 * d.pad_width, d.pad_width},
        y_{d.out_channels, d.out_height(), d.out_width(), d.out_width(), 0},
        dy_{d.out_channels, d.out_height(), d.out_width(), RoundUp(d.out_width(), kDataTile), 0},
        dx_{d.in_channels, d.in_height, d.in_width, dy_.padded_width + d.kernel_width - 1,
            d.pad_width},
        forward_(Shape(d, x_, y_)),
        backward_(Shape(d, dx_, dy_)) {}

  absl::Status Prepare() {
    GG_RETURN_IF_ERROR(Allocate(groups_ * x_.floats(), x_vectors_));
    GG_RETURN_IF_ERROR(Allocate(groups_ * y_.floats(), y_vectors_));
    GG_RETURN_IF_ERROR(Allocate(groups_ * dy_.floats(), dy_vectors_));
    GG_RETURN_IF_ERROR(Allocate(groups_ * dx_.floats(), dx_vectors_));
    return Allocate(static_cast<int64_t>(sizes_.w), packed_);
  }

  absl::Status Forward(Stream&, ConstFlat x, ConstFlat w, ConstFlat b, Flat y) override {
    GG_RETURN_IF_ERROR(CheckForward("Conv2d", sizes_, x, w, b, y));
    Pack(y_.channels, kOutBlock, x_.channels,
         [&](int64_t o, int64_t c, int64_t tap) { return w[(o * x_.channels + c) * taps_ + tap]; });
    ForEach(context_.threads, groups_, [&](int64_t g) {
      float* in = At(x_vectors_, g, x_);
      float* out = At(y_vectors_, g, y_);
      x_.Load(Samples(x, g), in);
      BatchForward(forward_, in, packed_->floats().data(), b.data(), out);
      y_.Store(out, y.data() + g * Stride(y));
    });
    return absl::OkStatus();
  }

  absl::Status BackwardData(Stream&, ConstFlat dy, ConstFlat w, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckBackwardData("Conv2d", sizes_, dy, w, dx));
    Pack(x_.channels, kInBlock, y_.channels,
         [&](int64_t c, int64_t o, int64_t tap) { return w[(o * x_.channels + c) * taps_ + tap]; });
    ForEach(context_.threads, groups_, [&](int64_t g) {
      float* in = At(dy_vectors_, g, dy_);
      float* out = At(dx_vectors_, g, dx_);
      dy_.Load(Samples(dy, g), in);
      BatchBackwardData(backward_, in, packed_->floats().data(), out);
      dx_.Store(out, dx.data() + g * Stride(dx));
    });
    return absl::OkStatus();
  }

  absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dw, Flat db) override {
    GG_RETURN_IF_ERROR(CheckBackwardParams("Conv2d", sizes_, x, dy, dw, db));
    std::fill(dw.begin(), dw.end(), 0.0f);
    std::fill(db.begin(), db.end(), 0.0f);
    ForEach(context_.threads, groups_, [&](int64_t g) {
      x_.Load(Samples(x, g), At(x_vectors_, g, x_));
      y_.Load(Samples(dy, g), At(y_vectors_, g, y_));
    });
    // A block of output channels belongs to one thread, which adds the groups in order: the same
    // bits for any number of threads.
    const int64_t blocks = RoundUp(y_.channels, kGradBlock) / kGradBlock;
    ForEach(context_.threads, blocks, [&](int64_t block) {
      const int64_t begin = block * kGradBlock;
      for (int64_t g = 0; g < groups_; ++g) {
        BatchGradients(forward_, At(x_vectors_, g, x_), At(y_vectors_, g, y_), begin,
                       std::min(begin + kGradBlock, y_.channels), dw.data(), db.data());
      }
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status Allocate(int64_t floats, std::unique_ptr<Buffer>& buffer) {
    GG_ASSIGN_OR_RETURN(buffer, AllocateHost(static_cast<size_t>(floats) * sizeof(float)));
    return absl::OkStatus();
  }

  static float* At(const std::unique_ptr<Buffer>& buffer, int64_t group, const VectorImage& image) {
    return buffer->floats().data() + group * image.floats();
  }
  int64_t Stride(ConstFlat images) const { return static_cast<int64_t>(images.size()) / groups_; }
  const float* Samples(ConstFlat images, int64_t group) const {
    return images.data() + group * Stride(images);
  }

  // Weights in the order in which the kernels read them: blocks of `block` of the `outer` channels,
  // in each (inner channel, tap, channel of the block). get(outer channel, inner channel, tap).
  template <typename Get>
  void Pack(int64_t outer, int64_t block, int64_t inner, const Get& get) {
    float* to = packed_->floats().data();
    for (int64_t o = 0; o < outer; o += block) {
      const int64_t end = std::min(o + block, outer);
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t tap = 0; tap < taps_; ++tap) {
          for (int64_t b = o; b < end; ++b) *to++ = get(b, i, tap);
        }
      }
    }
  }

  static BatchShape Shape(const Conv2dDesc& d, const VectorImage& in, const VectorImage& out) {
    return {in.channels,      in.height,       in.padded_width, out.channels, out.height,
            out.padded_width, d.kernel_height, d.kernel_width,  d.pad_height};
  }

  const Context context_;
  const Conv2dSizes sizes_;
  const int64_t groups_, taps_;
  const VectorImage x_, y_, dy_, dx_;  // dy_: as the input gradient reads it
  const BatchShape forward_, backward_;
  // Each layout has memory of its own, so that its zero columns are written once and for all.
  std::unique_ptr<Buffer> x_vectors_, y_vectors_, dy_vectors_, dx_vectors_, packed_;
};

}  // namespace

bool PrefersBatchConv2d(const Conv2dDesc& d) {
  const bool possible = HasBatchKernels() && d.batch % kLanes == 0 && d.kernel_width <= kMaxTaps &&
                        d.stride_height == 1 && d.stride_width == 1;
  const double blocked =
      static_cast<double>(RoundUp(d.in_channels, kLanes) * RoundUp(d.out_channels, kLanes));
  return possible && blocked >= kMinWaste * static_cast<double>(d.in_channels * d.out_channels);
}

absl::StatusOr<std::unique_ptr<Conv2d>> MakeBatchConv2d(const Context& context,
                                                        const Conv2dDesc& desc) {
  auto conv = std::make_unique<BatchConv2d>(context, desc);
  GG_RETURN_IF_ERROR(conv->Prepare());
  return conv;
}

}  // namespace gg::onednn
