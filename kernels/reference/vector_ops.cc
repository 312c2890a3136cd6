// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/vector_ops.h"

#include <algorithm>
#include <cmath>

#include "kernels/clones.h"

namespace gg::vector_ops {
namespace {

// A fixed number of partial sums: vectorises, and the order of additions is the same for every
// vector width.
constexpr size_t kLanes = 16;

// What a step of Adam does not compute for each element again.
struct AdamFactors {
  explicit AdamFactors(const AdamParams& p)
      : keep1(static_cast<float>(p.beta1)),
        add1(static_cast<float>(1 - p.beta1)),
        keep2(static_cast<float>(p.beta2)),
        add2(static_cast<float>(1 - p.beta2)),
        unbiased1(1 - std::pow(p.beta1, static_cast<double>(p.step))),
        root_scale(
            static_cast<float>(1 / std::sqrt(1 - std::pow(p.beta2, static_cast<double>(p.step))))),
        epsilon(static_cast<float>(p.epsilon)),
        coupled(p.decoupled_decay ? 0.0f : static_cast<float>(p.weight_decay)),
        decoupled(p.decoupled_decay ? p.weight_decay : 0.0) {}
  const float keep1, add1, keep2, add2;
  const double unbiased1;
  const float root_scale, epsilon, coupled;
  const double decoupled;
};

}  // namespace

GG_VECTOR_CLONES
void Axpby(size_t n, float a, const float* x, float b, float* y) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) y[i] = a * x[i] + b * y[i];
}

GG_VECTOR_CLONES
void AddDifference(size_t n, float a, const float* x, const float* s, float* y) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) y[i] += a * (x[i] - s[i]);
}

// NaN passes, as in the layers below: a diverged run must show.
GG_VECTOR_CLONES
void Clamp(size_t n, float limit, float* y) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    const float low = y[i] < -limit ? -limit : y[i];
    y[i] = low > limit ? limit : low;
  }
}

GG_VECTOR_CLONES
double SquaredDistance(size_t n, const float* x, const float* y) {
  double sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double d = static_cast<double>(x[i + lane]) - static_cast<double>(y[i + lane]);
      sums[lane] += d * d;
    }
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  for (; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    total += d * d;
  }
  return total;
}

GG_VECTOR_CLONES
double SquaredNorm(size_t n, const float* x) {
  double sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double d = static_cast<double>(x[i + lane]);
      sums[lane] += d * d;
    }
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  for (; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

GG_VECTOR_CLONES
void Sgd(size_t n, const SgdParams& params, const float* g, float* w) {
  const float rate = params.learning_rate;
  const float decay = params.weight_decay;
#pragma omp simd
  for (size_t i = 0; i < n; ++i) w[i] -= rate * (g[i] + decay * w[i]);
}

GG_VECTOR_CLONES
void SgdMomentum(size_t n, const SgdParams& params, const float* g, float* v, float* w) {
  const float rate = params.learning_rate;
  const float momentum = params.momentum;
  const float decay = params.weight_decay;
  if (!params.rate_in_momentum) {
    const float now = params.nesterov ? 1 : 0, kept = params.nesterov ? momentum : 1;
#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
      const float d = g[i] + decay * w[i];
      v[i] = momentum * v[i] + d;
      w[i] -= rate * (now * d + kept * v[i]);
    }
    return;
  }
  if (params.nesterov) {
#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
      const float step = rate * (g[i] + decay * w[i]);
      v[i] = momentum * v[i] + step;
      w[i] -= momentum * v[i] + step;
    }
    return;
  }
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    v[i] = momentum * v[i] + rate * (g[i] + decay * w[i]);
    w[i] -= v[i];
  }
}

GG_VECTOR_CLONES
void Adam(size_t n, const AdamParams& params, const float* g, float* m, float* v, float* w) {
  const AdamFactors f(params);
  const float rate = static_cast<float>(params.learning_rate / f.unbiased1);
  // Taken off apart: 1 - rate decay has few bits left of a small decay.
  const float shrink = static_cast<float>(params.learning_rate * f.decoupled);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    const float d = g[i] + f.coupled * w[i];
    m[i] = f.keep1 * m[i] + f.add1 * d;
    v[i] = f.keep2 * v[i] + f.add2 * (d * d);
    w[i] -= shrink * w[i] + rate * m[i] / (std::sqrt(v[i]) * f.root_scale + f.epsilon);
  }
}

GG_VECTOR_CLONES
void AdamDirection(size_t n, const AdamParams& params, const float* g, const float* w, float* m,
                   float* v, float* r) {
  const AdamFactors f(params);
  const float scale = static_cast<float>(1 / f.unbiased1);
  const float decay = static_cast<float>(f.decoupled);
#pragma omp simd
  for (size_t i = 0; i < n; ++i) {
    const float d = g[i] + f.coupled * w[i];
    m[i] = f.keep1 * m[i] + f.add1 * d;
    v[i] = f.keep2 * v[i] + f.add2 * (d * d);
    r[i] = scale * m[i] / (std::sqrt(v[i]) * f.root_scale + f.epsilon) + decay * w[i];
  }
}

// Both comparisons let NaN through: a diverged run must show.
GG_VECTOR_CLONES
void Relu(size_t n, const float* x, float* y) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

GG_VECTOR_CLONES
void ReluBackward(size_t n, const float* y, const float* dy, float* dx) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) dx[i] = y[i] <= 0.0f ? 0.0f : dy[i];
}

GG_VECTOR_CLONES
void Multiply(size_t n, const float* x, const float* mask, float* y) {
#pragma omp simd
  for (size_t i = 0; i < n; ++i) y[i] = x[i] * mask[i];
}

GG_VECTOR_CLONES
void ColumnSums(size_t rows, size_t cols, const float* x, float* sums) {
  std::fill(sums, sums + cols, 0.0f);
  for (size_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (size_t c = 0; c < cols; ++c) sums[c] += x[r * cols + c];
  }
}

}  // namespace gg::vector_ops
