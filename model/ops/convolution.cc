// SPDX-License-Identifier: Apache-2.0
#include "model/ops/convolution.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {

absl::StatusOr<OpDesc> Convolution::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckImages(inputs));
  GG_RETURN_IF_ERROR(CheckCount(options.out_channels, "the number of filters"));
  GG_RETURN_IF_ERROR(CheckCount(options.groups, "the number of groups"));
  const Shape& in = inputs[0];
  if (in[1] % options.groups != 0 || options.out_channels % options.groups != 0) {
    return Refused(options.groups, " groups divide neither more nor less than all of ", in[1],
                   " input channels and ", options.out_channels,
                   " filters: use a common divisor of both");
  }
  if (options.window.ceil_mode) {
    return Refused("a convolution has no windows over the edge (ceil_mode): pad instead");
  }
  GG_ASSIGN_OR_RETURN(const auto out, OutputSize(options.window, in[2], in[3]));
  OpDesc desc;
  desc.outputs = {{in[0], options.out_channels, out[0], out[1]}};
  GG_RETURN_IF_ERROR(CheckShape(desc.outputs[0], "its output"));
  const auto& [kernel_height, kernel_width] = options.window.kernel;
  const Shape weight = {options.out_channels, in[1] / options.groups, kernel_height, kernel_width};
  GG_RETURN_IF_ERROR(CheckShape(weight, "its weight"));
  const int64_t fan_in = weight[1] * kernel_height * kernel_width;
  desc.parameters.push_back({.name = "weight",
                             .shape = weight,
                             .initial = options.weight_initial.value_or(Xavier(fan_in))});
  if (options.bias) {
    desc.parameters.push_back({.name = "bias",
                               .shape = {options.out_channels},
                               .initial = options.bias_initial.value_or(Initializer())});
  }
  desc.multiply_adds = CappedProduct(Elements(desc.outputs[0]), fan_in);
  return desc;
}

std::string Convolution::Text() const {
  std::string text =
      absl::StrCat(options.out_channels, options.out_channels == 1 ? " filter of " : " filters of ",
                   ToString(options.window));
  if (options.groups != 1) absl::StrAppend(&text, ", ", options.groups, " groups");
  if (!options.bias) absl::StrAppend(&text, ", no bias");
  return text;
}

}  // namespace gg::model
