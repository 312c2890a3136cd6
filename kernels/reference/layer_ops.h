// SPDX-License-Identifier: Apache-2.0
//
// The prepared operations of the reference device. The descriptions have been checked
// (kernels/checks.h). Thread-safety: see kernels/device.h.
#ifndef GOSSIPGRAD_KERNELS_REFERENCE_LAYER_OPS_H_
#define GOSSIPGRAD_KERNELS_REFERENCE_LAYER_OPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device.h"

namespace gg {

std::unique_ptr<Conv2d> MakeReferenceConv2d(const Conv2dDesc& desc);
std::unique_ptr<Linear> MakeReferenceLinear(const LinearDesc& desc);
// kResourceExhausted: no memory to note the winners.
absl::StatusOr<std::unique_ptr<Pool2d>> MakeReferencePool2d(const Pool2dDesc& desc);

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_REFERENCE_LAYER_OPS_H_
