// SPDX-License-Identifier: Apache-2.0
//
// Loops over whole vectors, compiled for several instruction sets and chosen at load time. Each
// element's result is the same in all of them, whatever its position, so a vector may be cut
// anywhere. Inputs and outputs either coincide or do not overlap. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_KERNELS_REFERENCE_VECTOR_OPS_H_
#define GOSSIPGRAD_KERNELS_REFERENCE_VECTOR_OPS_H_

#include <cstddef>

#include "kernels/device.h"

namespace gg::vector_ops {

void Axpby(size_t n, float a, const float* x, float b, float* y);
void AddDifference(size_t n, float a, const float* x, const float* s, float* y);
void Clamp(size_t n, float limit, float* y);
double SquaredDistance(size_t n, const float* x, const float* y);
double SquaredNorm(size_t n, const float* x);
void Sgd(size_t n, const SgdParams& params, const float* g, float* w);
void SgdMomentum(size_t n, const SgdParams& params, const float* g, float* v, float* w);
void Adam(size_t n, const AdamParams& params, const float* g, float* m, float* v, float* w);
void AdamDirection(size_t n, const AdamParams& params, const float* g, const float* w, float* m,
                   float* v, float* r);
void Relu(size_t n, const float* x, float* y);
void ReluBackward(size_t n, const float* y, const float* dy, float* dx);
void Multiply(size_t n, const float* x, const float* mask, float* y);
// sums_c = sum over the rows of x (rows, cols).
void ColumnSums(size_t rows, size_t cols, const float* x, float* sums);

}  // namespace gg::vector_ops

#endif  // GOSSIPGRAD_KERNELS_REFERENCE_VECTOR_OPS_H_
