// SPDX-License-Identifier: Apache-2.0
//
// The prepared operations of the oneDNN device. The descriptions have been checked
// (kernels/checks.h). Thread-safety: see kernels/device.h. They throw dnnl::error while being made.
// Errors: kUnavailable, kResourceExhausted.
#ifndef GOSSIPGRAD_KERNELS_ONEDNN_LAYER_OPS_H_
#define GOSSIPGRAD_KERNELS_ONEDNN_LAYER_OPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device.h"
#include "kernels/onednn/pass.h"

namespace gg::onednn {

absl::StatusOr<std::unique_ptr<Conv2d>> MakeConv2d(const Context& context, const Conv2dDesc& desc);
absl::StatusOr<std::unique_ptr<Linear>> MakeLinear(const Context& context, const LinearDesc& desc);
absl::StatusOr<std::unique_ptr<Pool2d>> MakePool2d(const Context& context, const Pool2dDesc& desc);

}  // namespace gg::onednn

#endif  // GOSSIPGRAD_KERNELS_ONEDNN_LAYER_OPS_H_
