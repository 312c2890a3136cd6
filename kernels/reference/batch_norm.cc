// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/clones.h"
#include "kernels/host_buffer.h"

namespace gg {
namespace {

// Sums of one channel are kept in so many partial sums: vectorises, and the order of additions is the same for every
// vector width.
constexpr size_t kLanes = 16;

// Every loop exists twice: over a run of pixels of one channel (images), and over a run of channels of one sample
// (vectors), where each element has a channel of its own.

// sums += x - pivot, products += (x - pivot)^2.
GG_VECTOR_CLONES
void AddMoments(size_t n, const float* x, double pivot, double* sums, double* squares) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double d = static_cast<double>(x[i + lane]) - pivot;
      sums[lane] += d;
      squares[lane] += d * d;
    }
  }
  for (size_t lane = 0; i < n; ++i, ++lane) {
    const double d = static_cast<double>(x[i]) - pivot;
    sums[lane] += d;
    squares[lane] += d * d;
  }
}

GG_VECTOR_CLONES
void AddMomentsPerChannel(size_t n, const float* x, const double* pivot, double* sums,
                          double* squares) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - pivot[i];
    sums[i] += d;
    squares[i] += d * d;
  }
}

// sums += dy, products += dy (x - mean).
GG_VECTOR_CLONES
void AddProducts(size_t n, const float* x, const float* dy, double mean, double* sums,
                 double* products) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double g = dy[i + lane];
      sums[lane] += g;
      products[lane] += g * (static_cast<double>(x[i + lane]) - mean);
    }
  }
  for (size_t lane = 0; i < n; ++i, ++lane) {
    const double g = dy[i];
    sums[lane] += g;
    products[lane] += g * (static_cast<double>(x[i]) - mean);
  }
}

GG_VECTOR_CLONES
void AddProductsPerChannel(size_t n, const float* x, const float* dy, const double* mean,
                           double* sums, double* products) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    const double g = dy[i];
    sums[i] += g;
    products[i] += g * (static_cast<double>(x[i]) - mean[i]);
  }
}

// The mean as a sum of two floats: the difference to the first is exact for values near it.
struct Centre {
  float high, low;
  explicit Centre(double mean)
      : high(static_cast<float>(mean)), low(static_cast<float>(mean - static_cast<double>(high))) {}
};

// y = (x - mean) scale + shift.
GG_VECTOR_CLONES
void Normalise(size_t n, const float* x, Centre mean, float scale, float shift, float* y) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) y[i] = ((x[i] - mean.high) - mean.low) * scale + shift;
}

GG_VECTOR_CLONES
void NormalisePerChannel(size_t n, const float* x, const float* high, const float* low,
                         const float* scale, const float* shift, float* y) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) y[i] = ((x[i] - high[i]) - low[i]) * scale[i] + shift[i];
}

// dx = scale (dy - mean_dy - (x - mean) slope).
GG_VECTOR_CLONES
void InputGradient(size_t n, const float* x, const float* dy, Centre mean, float scale,
                   float mean_dy, float slope, float* dx) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    dx[i] = scale * ((dy[i] - mean_dy) - ((x[i] - mean.high) - mean.low) * slope);
  }
}

GG_VECTOR_CLONES
void InputGradientPerChannel(size_t n, const float* x, const float* dy, const float* high,
                             const float* low, const float* scale, const float* mean_dy,
                             const float* slope, float* dx) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    dx[i] = scale[i] * ((dy[i] - mean_dy[i]) - ((x[i] - high[i]) - low[i]) * slope[i]);
  }
}

class CpuBatchNorm : public BatchNorm {
 public:
  CpuBatchNorm(const BatchNormDesc& desc, ForChannels for_channels)
      : d_(desc),
        channels_(static_cast<size_t>(desc.channels)),
        spatial_(static_cast<size_t>(desc.spatial)),
        count_(static_cast<size_t>(desc.batch) * spatial_),
        for_channels_(std::move(for_channels)) {}

  absl::Status Prepare() {
    GG_ASSIGN_OR_RETURN(memory_, AllocateHost(channels_ * (kDoubleArrays * sizeof(double) +
                                                           kFloatArrays * sizeof(float))));
    double* doubles = static_cast<double*>(memory_->data());
    for (double** array : {&mean_, &inverse_, &sums_, &products_}) {
      *array = doubles;
      doubles += channels_;
    }
    float* floats = reinterpret_cast<float*>(doubles);
    for (float** array : {&high_, &low_, &scale_, &mean_dy_, &slope_}) {
      *array = floats;
      floats += channels_;
    }
    return absl::OkStatus();
  }

  absl::Status Forward(Stream&, ConstFlat x, ConstFlat gamma, ConstFlat beta, Flat running_mean,
                       Flat running_variance, Flat y) override {
    has_ = Has::kNothing;
    GG_RETURN_IF_ERROR(Annotate(CheckPass(x, gamma, beta, "running_mean", running_mean,
                                          "running_variance", running_variance, y),
                                "BatchNorm.Forward"));
    if (count_ < 2) {
      return absl::InvalidArgumentError(
          "BatchNorm.Forward: one value per channel has no variance: a training batch needs at "
          "least two samples, or images of more than one pixel");
    }
    const double count = static_cast<double>(count_);
    const double momentum = d_.momentum;
    const auto follow = [&](float& running, double value) {
      running = static_cast<float>((1 - momentum) * running + momentum * value);
    };
    Run([&](size_t begin, size_t end) {
      Moments(x.data(), begin, end);
      for (size_t c = begin; c < end; ++c) {
        const double mean = mean_[c] + sums_[c] / count;
        double variance = (products_[c] - sums_[c] * sums_[c] / count) / count;
        if (variance < 0) variance = 0;  // lets NaN through: a diverged run must show
        follow(running_mean[c], mean);
        follow(running_variance[c], variance * (count / (count - 1)));
        SetChannel(c, mean, variance, gamma[c]);
      }
      NormaliseChannels(x.data(), beta.data(), y.data(), begin, end);
    });
    has_ = Has::kStatistics;
    return absl::OkStatus();
  }

  absl::Status Infer(Stream&, ConstFlat x, ConstFlat gamma, ConstFlat beta, ConstFlat mean,
                     ConstFlat variance, Flat y) override {
    has_ = Has::kNothing;
    GG_RETURN_IF_ERROR(Annotate(CheckPass(x, gamma, beta, "mean", mean, "variance", variance, y),
                                "BatchNorm.Infer"));
    Run([&](size_t begin, size_t end) {
      for (size_t c = begin; c < end; ++c) SetChannel(c, mean[c], variance[c], gamma[c]);
      NormaliseChannels(x.data(), beta.data(), y.data(), begin, end);
    });
    return absl::OkStatus();
  }

  absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dgamma,
                              Flat dbeta) override {
    if (has_ == Has::kNothing) {
      return absl::FailedPreconditionError("BatchNorm.BackwardParams without a Forward before it");
    }
    GG_RETURN_IF_ERROR(CheckImages("BackwardParams: x", x));
    GG_RETURN_IF_ERROR(CheckImages("BackwardParams: dy", dy));
    GG_RETURN_IF_ERROR(CheckChannels("BackwardParams: dgamma", dgamma));
    GG_RETURN_IF_ERROR(CheckChannels("BackwardParams: dbeta", dbeta));
    const double count = static_cast<double>(count_);
    Run([&](size_t begin, size_t end) {
      Products(x.data(), dy.data(), begin, end);
      for (size_t c = begin; c < end; ++c) {
        dgamma[c] = static_cast<float>(products_[c] * inverse_[c]);
        dbeta[c] = static_cast<float>(sums_[c]);
        mean_dy_[c] = static_cast<float>(sums_[c] / count);
        slope_[c] = static_cast<float>(products_[c] * inverse_[c] * inverse_[c] / count);
      }
    });
    has_ = Has::kGradientSums;
    return absl::OkStatus();
  }

  absl::Status BackwardData(Stream&, ConstFlat x, ConstFlat dy, ConstFlat gamma, Flat dx) override {
    if (has_ != Has::kGradientSums) {
      return absl::FailedPreconditionError(
          "BatchNorm.BackwardData without the BackwardParams of the same batch before it");
    }
    GG_RETURN_IF_ERROR(CheckImages("BackwardData: x", x));
    GG_RETURN_IF_ERROR(CheckImages("BackwardData: dy", dy));
    GG_RETURN_IF_ERROR(CheckImages("BackwardData: dx", dx));
    GG_RETURN_IF_ERROR(CheckChannels("BackwardData: gamma", gamma));
    Run([&](size_t begin, size_t end) {
      for (size_t c = begin; c < end; ++c) scale_[c] = static_cast<float>(gamma[c] * inverse_[c]);
      ForRuns(begin, end, [&](size_t c, size_t at, size_t n) {
        if (spatial_ == 1) {
          InputGradientPerChannel(n, x.data() + at, dy.data() + at, high_ + c, low_ + c, scale_ + c,
                                  mean_dy_ + c, slope_ + c, dx.data() + at);
        } else {
          InputGradient(n, x.data() + at, dy.data() + at, Centre(mean_[c]), scale_[c], mean_dy_[c],
                        slope_[c], dx.data() + at);
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  enum class Has { kNothing, kStatistics, kGradientSums };
  static constexpr size_t kDoubleArrays = 4, kFloatArrays = 5;

  absl::Status CheckImages(absl::string_view what, ConstFlat x) const {
    return Annotate(CheckSize(what, x.size(), count_ * channels_), "BatchNorm");
  }
  absl::Status CheckChannels(absl::string_view what, ConstFlat x) const {
    return Annotate(CheckSize(what, x.size(), channels_), "BatchNorm");
  }

  // Without a string that is put together: this runs in every step.
  absl::Status CheckPass(ConstFlat x, ConstFlat gamma, ConstFlat beta, absl::string_view mean_name,
                         ConstFlat mean, absl::string_view variance_name, ConstFlat variance,
                         ConstFlat y) const {
    GG_RETURN_IF_ERROR(CheckSize("x", x.size(), count_ * channels_));
    GG_RETURN_IF_ERROR(CheckSize("y", y.size(), count_ * channels_));
    GG_RETURN_IF_ERROR(CheckSize("gamma", gamma.size(), channels_));
    GG_RETURN_IF_ERROR(CheckSize("beta", beta.size(), channels_));
    GG_RETURN_IF_ERROR(CheckSize(mean_name, mean.size(), channels_));
    return CheckSize(variance_name, variance.size(), channels_);
  }

  void Run(absl::FunctionRef<void(size_t, size_t)> fn) { for_channels_(channels_, count_, fn); }

  // Calls fn(channel, offset in x, length) for each contiguous run of the channels' values: one per
  // sample and channel for images, one per sample for vectors.
  template <typename Fn>
  void ForRuns(size_t begin, size_t end, const Fn& fn) const {
    const size_t batch = static_cast<size_t>(d_.batch);
    if (spatial_ == 1) {
      for (size_t n = 0; n < batch; ++n) fn(begin, n * channels_ + begin, end - begin);
      return;
    }
    for (size_t c = begin; c < end; ++c) {
      for (size_t n = 0; n < batch; ++n) fn(c, (n * channels_ + c) * spatial_, spatial_);
    }
  }

  // sums_ and products_ of the channels, where `run` adds one image's part to its lanes and
  // `column` one sample's part to each channel.
  template <typename RunFn, typename ColumnFn>
  void Accumulate(size_t begin, size_t end, const RunFn& run, const ColumnFn& column) {
    const size_t batch = static_cast<size_t>(d_.batch);
    if (spatial_ == 1) {
      std::fill(sums_ + begin, sums_ + end, 0.0);
      std::fill(products_ + begin, products_ + end, 0.0);
      ForRuns(begin, end, column);
      return;
    }
    for (size_t c = begin; c < end; ++c) {
      double sums[kLanes] = {}, products[kLanes] = {};
      for (size_t n = 0; n < batch; ++n) run(c, (n * channels_ + c) * spatial_, sums, products);
      sums_[c] = products_[c] = 0;
      for (size_t lane = 0; lane < kLanes; ++lane) {
        sums_[c] += sums[lane];
        products_[c] += products[lane];
      }
    }
  }

  // Sums about the channel's first value, which is left in mean_: of the size of the deviations,
  // however far from zero these are.
  void Moments(const float* x, size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) mean_[c] = x[c * spatial_];
    Accumulate(
        begin, end,
        [&](size_t c, size_t at, double* sums, double* squares) {
          AddMoments(spatial_, x + at, mean_[c], sums, squares);
        },
        [&](size_t c, size_t at, size_t n) {
          AddMomentsPerChannel(n, x + at, mean_ + c, sums_ + c, products_ + c);
        });
  }

  void Products(const float* x, const float* dy, size_t begin, size_t end) {
    Accumulate(
        begin, end,
        [&](size_t c, size_t at, double* sums, double* products) {
          AddProducts(spatial_, x + at, dy + at, mean_[c], sums, products);
        },
        [&](size_t c, size_t at, size_t n) {
          AddProductsPerChannel(n, x + at, dy + at, mean_ + c, sums_ + c, products_ + c);
        });
  }

  void SetChannel(size_t c, double mean, double variance, float gamma) {
    const Centre centre(mean);
    mean_[c] = mean;
    inverse_[c] = 1 / std::sqrt(variance + static_cast<double>(d_.epsilon));
    high_[c] = centre.high;
    low_[c] = centre.low;
    scale_[c] = static_cast<float>(gamma * inverse_[c]);
  }

  void NormaliseChannels(const float* x, const float* beta, float* y, size_t begin, size_t end) {
    ForRuns(begin, end, [&](size_t c, size_t at, size_t n) {
      if (spatial_ == 1) {
        NormalisePerChannel(n, x + at, high_ + c, low_ + c, scale_ + c, beta + c, y + at);
      } else {
        Normalise(n, x + at, Centre(mean_[c]), scale_[c], beta[c], y + at);
      }
    });
  }

  const BatchNormDesc d_;
  const size_t channels_, spatial_;
  const size_t count_;  // values of a channel
  const ForChannels for_channels_;
  Has has_ = Has::kNothing;  // of the last batch
  std::unique_ptr<Buffer> memory_;
  // One value per channel. `inverse_`: 1 / sqrt(variance + epsilon).
  double *mean_ = nullptr, *inverse_ = nullptr, *sums_ = nullptr, *products_ = nullptr;
  float *high_ = nullptr, *low_ = nullptr, *scale_ = nullptr, *mean_dy_ = nullptr,
        *slope_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNorm>> MakeCpuBatchNorm(const BatchNormDesc& desc,
                                                            ForChannels for_channels) {
  auto norm = std::make_unique<CpuBatchNorm>(desc, std::move(for_channels));
  GG_RETURN_IF_ERROR(norm->Prepare());
  return norm;
}

}  // namespace gg
