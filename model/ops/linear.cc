// SPDX-License-Identifier: Apache-2.0
#include "model/ops/linear.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {

absl::StatusOr<OpDesc> Linear::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  GG_RETURN_IF_ERROR(CheckCount(options.out_features, "the number of features"));
  if (inputs[0].size() < 2) {
    return Refused("its input is ", ToString(inputs[0]),
                   ", must have at least two dimensions: batch, ..., features");
  }
  const int64_t in = inputs[0].back();
  OpDesc desc;
  desc.outputs = {inputs[0]};
  desc.outputs[0].back() = options.out_features;
  GG_RETURN_IF_ERROR(CheckShape(desc.outputs[0], "its output"));
  const Shape weight = {options.out_features, in};
  GG_RETURN_IF_ERROR(CheckShape(weight, "its weight"));
  desc.parameters.push_back(
      {.name = "weight", .shape = weight, .initial = options.weight_initial.value_or(Xavier(in))});
  if (options.bias) {
    desc.parameters.push_back({.name = "bias",
                               .shape = {options.out_features},
                               .initial = options.bias_initial.value_or(Initializer())});
  }
  desc.multiply_adds = CappedProduct(Elements(desc.outputs[0]), in);
  return desc;
}

std::string Linear::Text() const {
  return absl::StrCat(options.out_features, " features", options.bias ? "" : ", no bias");
}

}  // namespace gg::model
