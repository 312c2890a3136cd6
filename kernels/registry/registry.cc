// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/device.h"
#include "kernels/reference/reference_device.h"
#ifdef GG_HAVE_ONEDNN
#include "kernels/onednn/onednn_device.h"
#endif

namespace gg {
namespace {

absl::StatusOr<std::unique_ptr<Device>> TryOneDnn(const DeviceOptions& options) {
#ifdef GG_HAVE_ONEDNN
  return MakeOneDnnDevice(options);
#else
  return absl::UnavailableError(
      "device onednn is not built in: build with GG_WITH_ONEDNN=ON, or use device reference");
#endif
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(absl::string_view name,
                                                   const DeviceOptions& options) {
  if (options.threads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("device threads is ", options.threads, ", must be at least 1"));
  }
  if (name == "reference") return MakeReferenceDevice();
  if (name == "onednn") return TryOneDnn(options);
  if (name == "auto") {
    auto fast = TryOneDnn(options);
    if (absl::IsUnavailable(fast.status())) return MakeReferenceDevice();
    return fast;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device '", name, "': use auto, reference or onednn"));
}

}  // namespace gg
