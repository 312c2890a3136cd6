// SPDX-License-Identifier: Apache-2.0
//
// What every device checks before it works: descriptions that are possible, views of the size that
// they promise. Thread-safety: pure functions. Errors: kInvalidArgument, naming the field or the
// argument with its value and the bound.
#ifndef GOSSIPGRAD_KERNELS_CHECKS_H_
#define GOSSIPGRAD_KERNELS_CHECKS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/device.h"

namespace gg {

absl::Status CheckDesc(const Conv2dDesc& desc);
absl::Status CheckDesc(const LinearDesc& desc);
absl::Status CheckDesc(const Pool2dDesc& desc);
absl::Status CheckDesc(const BatchNormDesc& desc);

absl::Status SizeError(absl::string_view what, size_t got, size_t want);

// `what` names operation and argument: "Conv2d.Forward: x".
inline absl::Status CheckSize(absl::string_view what, size_t got, size_t want) {
  if (got == want) [[likely]]
    return absl::OkStatus();
  return SizeError(what, got, want);
}

// Floats of each operand.
struct Conv2dSizes {
  explicit Conv2dSizes(const Conv2dDesc& d)
      : x(d.batch * d.in_channels * d.in_height * d.in_width),
        w(d.out_channels * d.in_channels * d.kernel_height * d.kernel_width),
        b(d.out_channels),
        y(d.batch * d.out_channels * d.out_height() * d.out_width()) {}
  size_t x, w, b, y;
};
struct LinearSizes {
  explicit LinearSizes(const LinearDesc& d)
      : x(d.batch * d.in_features),
        w(d.out_features * d.in_features),
        b(d.out_features),
        y(d.batch * d.out_features) {}
  size_t x, w, b, y;
};
struct Pool2dSizes {
  explicit Pool2dSizes(const Pool2dDesc& d)
      : x(d.batch * d.channels * d.in_height * d.in_width),
        y(d.batch * d.channels * d.out_height() * d.out_width()) {}
  size_t x, y;
};

// The arguments of a prepared operation with weights; Sizes is Conv2dSizes or LinearSizes, `op`
// "Conv2d" or "Linear".
template <typename Sizes>
absl::Status CheckForward(absl::string_view op, const Sizes& sizes, ConstFlat x, ConstFlat w,
                          ConstFlat b, Flat y);
template <typename Sizes>
absl::Status CheckBackwardData(absl::string_view op, const Sizes& sizes, ConstFlat dy, ConstFlat w,
                               Flat dx);
template <typename Sizes>
absl::Status CheckBackwardParams(absl::string_view op, const Sizes& sizes, ConstFlat x,
                                 ConstFlat dy, Flat dw, Flat db);

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_CHECKS_H_
