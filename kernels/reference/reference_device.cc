// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference_device.h"

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/reference/cpu_device.h"
#include "kernels/reference/layer_ops.h"

namespace gg {
namespace {

class ReferenceDevice : public CpuDevice {
 public:
  absl::string_view name() const override { return "reference"; }

  absl::StatusOr<std::unique_ptr<Conv2d>> MakeConv2d(const Conv2dDesc& desc) override {
    GG_RETURN_IF_ERROR(CheckDesc(desc));
    return MakeReferenceConv2d(desc);
  }
  absl::StatusOr<std::unique_ptr<Linear>> MakeLinear(const LinearDesc& desc) override {
    GG_RETURN_IF_ERROR(CheckDesc(desc));
    return MakeReferenceLinear(desc);
  }
  absl::StatusOr<std::unique_ptr<Pool2d>> MakePool2d(const Pool2dDesc& desc) override {
    GG_RETURN_IF_ERROR(CheckDesc(desc));
    return MakeReferencePool2d(desc);
  }
};

}  // namespace

std::unique_ptr<Device> MakeReferenceDevice() {
  return std::make_unique<ReferenceDevice>();
}

}  // namespace gg
