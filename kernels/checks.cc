// SPDX-License-Identifier: Apache-2.0
#include "kernels/checks.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

struct Field {
  absl::string_view name;
  int64_t value;
};

// Far above any real layer, and low enough that no product of sizes overflows 64 bits.
constexpr int64_t kMaxDimension = int64_t{1} << 30;
constexpr double kMaxFloats = static_cast<double>(int64_t{1} << 40);

absl::Status CheckPositive(absl::string_view op, std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    if (field.value < 1 || field.value > kMaxDimension) {
      return absl::InvalidArgumentError(absl::StrCat(op, ": ", field.name, " is ", field.value,
                                                     ", must be 1 to ", kMaxDimension));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFloats(absl::string_view op, absl::string_view tensor,
                         std::initializer_list<int64_t> dims) {
  double floats = 1;
  for (const int64_t dim : dims) floats *= static_cast<double>(dim);
  if (floats <= kMaxFloats) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(op, ": ", tensor, " would have ", floats,
                                                 " elements, at most ", kMaxFloats,
                                                 " are possible"));
}

absl::Status CheckWindow(absl::string_view op, absl::string_view axis, int64_t in, int64_t kernel,
                         int64_t pad) {
  if (pad < 0 || pad > kMaxDimension) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": pad_", axis, " is ", pad, ", must not be negative"));
  }
  if (kernel > in + 2 * pad) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": kernel_", axis, " is ", kernel, ", larger than the padded input of ",
                     in + 2 * pad, " (in_", axis, " ", in, ", pad_", axis, " ", pad, ")"));
  }
  return absl::OkStatus();
}

// A window that sees padding only has no maximum and no average.
absl::Status CheckPoolPad(absl::string_view axis, int64_t kernel, int64_t pad) {
  if (pad < kernel) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Pool2d: pad_", axis, " is ", pad, ", must be less than kernel_", axis, " (", kernel, ")"));
}

}  // namespace

absl::Status SizeError(absl::string_view what, size_t got, size_t want) {
  return absl::InvalidArgumentError(absl::StrCat(what, " has ", got, " elements, expected ", want));
}

absl::Status CheckDesc(const Conv2dDesc& d) {
  GG_RETURN_IF_ERROR(CheckPositive("Conv2d", {{"batch", d.batch},
                                              {"in_channels", d.in_channels},
                                              {"in_height", d.in_height},
                                              {"in_width", d.in_width},
                                              {"out_channels", d.out_channels},
                                              {"kernel_height", d.kernel_height},
                                              {"kernel_width", d.kernel_width},
                                              {"stride_height", d.stride_height},
                                              {"stride_width", d.stride_width}}));
  GG_RETURN_IF_ERROR(CheckWindow("Conv2d", "height", d.in_height, d.kernel_height, d.pad_height));
  GG_RETURN_IF_ERROR(CheckWindow("Conv2d", "width", d.in_width, d.kernel_width, d.pad_width));
  GG_RETURN_IF_ERROR(CheckFloats("Conv2d", "x", {d.batch, d.in_channels, d.in_height, d.in_width}));
  GG_RETURN_IF_ERROR(
      CheckFloats("Conv2d", "w", {d.out_channels, d.in_channels, d.kernel_height, d.kernel_width}));
  return CheckFloats("Conv2d", "y", {d.batch, d.out_channels, d.out_height(), d.out_width()});
}

absl::Status CheckDesc(const LinearDesc& d) {
  GG_RETURN_IF_ERROR(CheckPositive(
      "Linear",
      {{"batch", d.batch}, {"in_features", d.in_features}, {"out_features", d.out_features}}));
  GG_RETURN_IF_ERROR(CheckFloats("Linear", "x", {d.batch, d.in_features}));
  GG_RETURN_IF_ERROR(CheckFloats("Linear", "w", {d.out_features, d.in_features}));
  return CheckFloats("Linear", "y", {d.batch, d.out_features});
}

absl::Status CheckDesc(const Pool2dDesc& d) {
  GG_RETURN_IF_ERROR(CheckPositive("Pool2d", {{"batch", d.batch},
                                              {"channels", d.channels},
                                              {"in_height", d.in_height},
                                              {"in_width", d.in_width},
                                              {"kernel_height", d.kernel_height},
                                              {"kernel_width", d.kernel_width},
                                              {"stride_height", d.stride_height},
                                              {"stride_width", d.stride_width}}));
  GG_RETURN_IF_ERROR(CheckWindow("Pool2d", "height", d.in_height, d.kernel_height, d.pad_height));
  GG_RETURN_IF_ERROR(CheckWindow("Pool2d", "width", d.in_width, d.kernel_width, d.pad_width));
  GG_RETURN_IF_ERROR(CheckPoolPad("height", d.kernel_height, d.pad_height));
  GG_RETURN_IF_ERROR(CheckPoolPad("width", d.kernel_width, d.pad_width));
  return CheckFloats("Pool2d", "x", {d.batch, d.channels, d.in_height, d.in_width});
}

absl::Status CheckDesc(const BatchNormDesc& d) {
  GG_RETURN_IF_ERROR(CheckPositive(
      "BatchNorm", {{"batch", d.batch}, {"channels", d.channels}, {"spatial", d.spatial}}));
  // Written so that NaN is refused.
  if (!(d.epsilon > 0 && d.epsilon <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("BatchNorm: epsilon is ", d.epsilon, ", must be above 0 and at most 1"));
  }
  if (!(d.momentum >= 0 && d.momentum <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("BatchNorm: momentum is ", d.momentum, ", must be 0 to 1"));
  }
  return CheckFloats("BatchNorm", "x", {d.batch, d.channels, d.spatial});
}

template <typename Sizes>
absl::Status CheckForward(absl::string_view op, const Sizes& sizes, ConstFlat x, ConstFlat w,
                          ConstFlat b, Flat y) {
  GG_RETURN_IF_ERROR(Annotate(CheckSize("Forward: x", x.size(), sizes.x), op));
  GG_RETURN_IF_ERROR(Annotate(CheckSize("Forward: w", w.size(), sizes.w), op));
  GG_RETURN_IF_ERROR(Annotate(CheckSize("Forward: b", b.size(), sizes.b), op));
  return Annotate(CheckSize("Forward: y", y.size(), sizes.y), op);
}

template <typename Sizes>
absl::Status CheckBackwardData(absl::string_view op, const Sizes& sizes, ConstFlat dy, ConstFlat w,
                               Flat dx) {
  GG_RETURN_IF_ERROR(Annotate(CheckSize("BackwardData: dy", dy.size(), sizes.y), op));
  GG_RETURN_IF_ERROR(Annotate(CheckSize("BackwardData: w", w.size(), sizes.w), op));
  return Annotate(CheckSize("BackwardData: dx", dx.size(), sizes.x), op);
}

template <typename Sizes>
absl::Status CheckBackwardParams(absl::string_view op, const Sizes& sizes, ConstFlat x,
                                 ConstFlat dy, Flat dw, Flat db) {
  GG_RETURN_IF_ERROR(Annotate(CheckSize("BackwardParams: x", x.size(), sizes.x), op));
  GG_RETURN_IF_ERROR(Annotate(CheckSize("BackwardParams: dy", dy.size(), sizes.y), op));
  GG_RETURN_IF_ERROR(Annotate(CheckSize("BackwardParams: dw", dw.size(), sizes.w), op));
  return Annotate(CheckSize("BackwardParams: db", db.size(), sizes.b), op);
}

template absl::Status CheckForward(absl::string_view, const Conv2dSizes&, ConstFlat, ConstFlat,
                                   ConstFlat, Flat);
template absl::Status CheckForward(absl::string_view, const LinearSizes&, ConstFlat, ConstFlat,
                                   ConstFlat, Flat);
template absl::Status CheckBackwardData(absl::string_view, const Conv2dSizes&, ConstFlat, ConstFlat,
                                        Flat);
template absl::Status CheckBackwardData(absl::string_view, const LinearSizes&, ConstFlat, ConstFlat,
                                        Flat);
template absl::Status CheckBackwardParams(absl::string_view, const Conv2dSizes&, ConstFlat,
                                          ConstFlat, Flat, Flat);
template absl::Status CheckBackwardParams(absl::string_view, const LinearSizes&, ConstFlat,
                                          ConstFlat, Flat, Flat);

}  // namespace gg
