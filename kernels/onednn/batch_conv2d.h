// SPDX-License-Identifier: Apache-2.0
//
// Convolution for few channels: oneDNN computes in blocks of 16 channels, so LeNet's 20 and 50 cost
// what 32 and 64 would. Here a vector holds 16 SAMPLES instead, and no lane is wasted.
// Thread-safety: see kernels/device.h.
#ifndef GOSSIPGRAD_KERNELS_ONEDNN_BATCH_CONV2D_H_
#define GOSSIPGRAD_KERNELS_ONEDNN_BATCH_CONV2D_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device.h"
#include "kernels/onednn/pass.h"

namespace gg::onednn {

// Whether this is possible here (AVX-512, whole vectors of samples, stride 1, kernels of at most 5
// columns) and likely to be faster than oneDNN.
bool PrefersBatchConv2d(const Conv2dDesc& desc);

// The description is one that PrefersBatchConv2d has said yes to. kResourceExhausted.
absl::StatusOr<std::unique_ptr<Conv2d>> MakeBatchConv2d(const Context& context,
                                                        const Conv2dDesc& desc);

}  // namespace gg::onednn

#endif  // GOSSIPGRAD_KERNELS_ONEDNN_BATCH_CONV2D_H_
