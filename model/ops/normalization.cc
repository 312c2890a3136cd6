// SPDX-License-Identifier: Apache-2.0
#include "model/ops/normalization.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {
namespace {

absl::Status CheckEpsilon(double epsilon) {
  if (!std::isfinite(epsilon) || epsilon <= 0) {
    return Refused("epsilon is ", epsilon, ", must be above 0");
  }
  return absl::OkStatus();
}

absl::Status CheckChannels(absl::Span<const Shape> inputs) {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  if (inputs[0].size() < 2) {
    return Refused("its input is ", ToString(inputs[0]),
                   ", must have at least two dimensions: batch, channels");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpDesc> BatchNorm::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckChannels(inputs));
  GG_RETURN_IF_ERROR(CheckEpsilon(options.epsilon));
  if (!(options.momentum >= 0 && options.momentum <= 1)) {
    return Refused("momentum is ", options.momentum, ", must be 0 to 1");
  }
  const Shape channels = {inputs[0][1]};
  OpDesc desc;
  desc.outputs = {inputs[0]};
  desc.parameters = {
      {.name = "weight", .shape = channels, .initial = {.centre = options.weight_initial}},
      {.name = "bias", .shape = channels, .initial = {}}};
  desc.buffers = {{.name = "running_mean", .shape = channels, .initial = 0},
                  {.name = "running_var", .shape = channels, .initial = 1}};
  return desc;
}

std::string BatchNorm::Text() const {
  return absl::StrCat("epsilon ", options.epsilon, ", momentum ", options.momentum);
}

absl::StatusOr<OpDesc> LayerNorm::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  GG_RETURN_IF_ERROR(CheckEpsilon(options.epsilon));
  const auto rank = static_cast<int64_t>(inputs[0].size());
  if (options.dimensions < 1 || options.dimensions >= rank) {
    return Refused("normalises the last ", options.dimensions, " dimensions of ",
                   ToString(inputs[0]), ": must be at least 1 and leave the batch");
  }
  OpDesc desc;
  desc.outputs = {inputs[0]};
  if (options.affine) {
    const Shape shape(inputs[0].end() - options.dimensions, inputs[0].end());
    desc.parameters = {{.name = "weight", .shape = shape, .initial = {.centre = 1}},
                       {.name = "bias", .shape = shape, .initial = {}}};
  }
  return desc;
}

std::string LayerNorm::Text() const {
  std::string text = options.dimensions == 1
                         ? "over the last dimension"
                         : absl::StrCat("over the last ", options.dimensions, " dimensions");
  absl::StrAppend(&text, ", epsilon ", options.epsilon);
  if (!options.affine) absl::StrAppend(&text, ", no parameters");
  return text;
}

absl::StatusOr<OpDesc> Lrn::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckChannels(inputs));
  GG_RETURN_IF_ERROR(CheckCount(options.size, "the number of channels"));
  for (const auto& [value, name] : {std::pair{options.alpha, "alpha"}, {options.beta, "beta"}}) {
    if (!std::isfinite(value) || value < 0) {
      return Refused(name, " is ", value, ", must be at least 0");
    }
  }
  if (!std::isfinite(options.bias) || options.bias <= 0) {
    return Refused("bias is ", options.bias, ", must be above 0 or a dark image divides by 0");
  }
  OpDesc desc;
  desc.outputs = {inputs[0]};
  return desc;
}

std::string Lrn::Text() const {
  return absl::StrCat("over ", options.size, " channels, alpha ", options.alpha, ", beta ",
                      options.beta, options.bias == 1 ? "" : absl::StrCat(", bias ", options.bias));
}

}  // namespace gg::model
