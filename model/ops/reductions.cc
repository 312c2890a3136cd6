// SPDX-License-Identifier: Apache-2.0
#include "model/ops/reductions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {

absl::StatusOr<OpDesc> Softmax::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  GG_ASSIGN_OR_RETURN(const size_t axis, CheckAxis(options.axis, inputs[0]));
  if (axis == 0) {
    return Refused("axis ", options.axis,
                   " is the batch: samples do not depend on each other, use "
                   "another axis");
  }
  OpDesc desc;
  desc.outputs = {inputs[0]};
  return desc;
}

std::string Softmax::Text() const {
  return absl::StrCat(options.log ? "logarithm, " : "", "axis ", options.axis);
}

absl::StatusOr<OpDesc> Reduce::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  const Shape& in = inputs[0];
  if (options.axes.empty()) return Refused("reduces no axis: name at least one");
  std::vector<bool> reduced(in.size());
  for (const int64_t given : options.axes) {
    GG_ASSIGN_OR_RETURN(const size_t axis, CheckAxis(given, in));
    if (axis == 0) return Refused("axis ", given, " is the batch, which stays: use another axis");
    if (reduced[axis]) return Refused("axis ", given, " is named twice");
    reduced[axis] = true;
  }
  OpDesc desc;
  desc.outputs.emplace_back();
  for (size_t d = 0; d < in.size(); ++d) {
    if (!reduced[d]) {
      desc.outputs[0].push_back(in[d]);
    } else if (options.keep) {
      desc.outputs[0].push_back(1);
    }
  }
  return desc;
}

std::string Reduce::Text() const {
  return absl::StrCat(options.kind == ReduceOptions::kMean ? "mean" : "sum", " over axes ",
                      absl::StrJoin(options.axes, ","), options.keep ? "" : ", dropped");
}

}  // namespace gg::model
