// SPDX-License-Identifier: Apache-2.0
//
// Batch normalisation of all CPU devices. Statistics are accumulated in double: a channel whose mean is many times its
// deviation loses nothing, and the order of the additions does not depend on the number of threads, because a channel
// belongs to one of them. Bound by memory, so that plain loops are as good as any.
// Thread-safety: see kernels/device.h. The description has been checked (kernels/checks.h).
#ifndef GOSSIPGRAD_KERNELS_REFERENCE_BATCH_NORM_H_
#define GOSSIPGRAD_KERNELS_REFERENCE_BATCH_NORM_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/device.h"

namespace gg {

// Calls its last argument on ranges of channels, each worth so many floats; returns when all are done.
using ForChannels = std::function<void(size_t channels, size_t floats_each,
                                       absl::FunctionRef<void(size_t, size_t)>)>;

// kResourceExhausted: no memory for the statistics.
absl::StatusOr<std::unique_ptr<BatchNorm>> MakeCpuBatchNorm(const BatchNormDesc& desc,
                                                            ForChannels for_channels);

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_REFERENCE_BATCH_NORM_H_
