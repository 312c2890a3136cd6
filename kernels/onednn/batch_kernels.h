// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of batch_conv2d.cc, in AVX-512. Images of one group of 16 samples lie as
// (channel, row, column, sample): a pixel is one vector. Thread-safety: pure functions. To be
// called where HasBatchKernels() only.
#ifndef GOSSIPGRAD_KERNELS_ONEDNN_BATCH_KERNELS_H_
#define GOSSIPGRAD_KERNELS_ONEDNN_BATCH_KERNELS_H_

#include <cstdint>

namespace gg::onednn {

constexpr int64_t kLanes = 16;      // samples of a group
constexpr int64_t kMaxTaps = 5;     // columns of the kernel, at most
constexpr int64_t kOutBlock = 3;    // forward: output channels that are computed together, ...
constexpr int64_t kColumnTile = 8;  // ... for so many columns: 24 sums in registers
constexpr int64_t kInBlock = 3;   // input gradient: input channels that are computed together, ...
constexpr int64_t kDataTile = 4;  // ... from so many columns of dy: 3 x (4 + 5 - 1) sums
constexpr int64_t kGradBlock =
    4;  // weight gradient: output channels that are computed together: 4 x 5 sums

bool HasBatchKernels();

// Sizes of one convolution with stride 1. Widths are those of the vectors in memory: with the zero
// columns at the sides.
struct BatchShape {
  int64_t in_channels, in_height, in_width;
  int64_t out_channels, out_height, out_width;
  int64_t kernel_height, kernel_width;
  int64_t pad_height;  // lines above and below that are not there: they are left out
};

// `rows` runs of `width` values, of 16 samples that lie `sample_stride` apart, to vectors and back.
// Runs lie `image_stride` and `vector_stride` apart, counted in values and in vectors.
void ToVectors(const float* image, int64_t sample_stride, int64_t rows, int64_t width,
               int64_t image_stride, int64_t vector_stride, float* vectors);
void FromVectors(const float* vectors, int64_t sample_stride, int64_t rows, int64_t width,
                 int64_t vector_stride, int64_t image_stride, float* image);

// y = conv(x, w) + bias of one group. `packed` holds the weights in blocks of kOutBlock output
// channels, in each block (input channel, line, column, channel of the block).
void BatchForward(const BatchShape& s, const float* x, const float* packed, const float* bias,
                  float* y);

// dx of one group. out_width is a multiple of kDataTile, in_width is out_width + kernel_width - 1.
// `packed` holds the weights in blocks of kInBlock input channels, in each block (output channel,
// line, column, channel of the block).
void BatchBackwardData(const BatchShape& s, const float* dy, const float* packed, float* dx);

// Adds one group's share to dw (O, C, KH, KW) and db for the output channels [begin, end).
void BatchGradients(const BatchShape& s, const float* x, const float* dy, int64_t begin,
                    int64_t end, float* dw, float* db);

}  // namespace gg::onednn

#endif  // GOSSIPGRAD_KERNELS_ONEDNN_BATCH_KERNELS_H_
