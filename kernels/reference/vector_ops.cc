// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/vector_ops.h"

#include <algorithm>

#include "kernels/clones.h"

namespace gg::vector_ops {

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

GG_VECTOR_CLONES
double SquaredDistance(size_t n, const float* x, const float* y) {
  // A fixed number of partial sums: vectorises, and the order of additions is the same for every
  // vector width.
  constexpr size_t kLanes = 16;
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
void SgdMomentum(size_t n, const SgdParams& params, const float* g, float* v, float* w) {
  const float rate = params.learning_rate;
  const float momentum = params.momentum;
  const float decay = params.weight_decay;
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
