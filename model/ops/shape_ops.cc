// SPDX-License-Identifier: Apache-2.0
#include "model/ops/shape_ops.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {
namespace {

absl::StatusOr<OpDesc> OneOutput(Shape shape) {
  GG_RETURN_IF_ERROR(CheckShape(shape, "its output"));
  OpDesc desc;
  desc.outputs = {std::move(shape)};
  return desc;
}

// For each dimension of the input one number.
absl::Status CheckForEach(const Shape& in, size_t count, const char* what) {
  if (count != in.size()) {
    return Refused("has ", count, " ", what, " for an input of ", in.size(),
                   " dimensions: ", ToString(in), " needs one for each");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpDesc> Reshape::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  const Shape& in = inputs[0];
  Shape out = options.shape;
  int64_t known = 1;
  std::optional<size_t> rest;
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 0) {
      if (d >= in.size()) {
        return Refused("dimension ", d, " is as the input's (0), but that is ", ToString(in));
      }
      out[d] = in[d];
    }
    if (out[d] == -1) {
      if (rest.has_value()) {
        return Refused("dimensions ", *rest, " and ", d, " are both what is left (-1): name one");
      }
      rest = d;
      continue;
    }
    if (out[d] < 1) return Refused("dimension ", d, " is ", out[d], ", must be at least -1");
    known = CappedProduct(known, out[d]);
  }
  const int64_t elements = Elements(in);
  if (rest.has_value()) {
    if (elements % known != 0) {
      return Refused("its input is ", ToString(in), ", ", elements,
                     " elements, which do not divide by the ", known, " of the other dimensions");
    }
    out[*rest] = elements / known;
  } else if (known != elements) {
    return Refused("its input is ", ToString(in), ", ", elements, " elements, ", ToString(out),
                   " holds ", known);
  }
  return OneOutput(std::move(out));
}

std::string Reshape::Text() const {
  return absl::StrCat("to ", ToString(options.shape));
}

absl::StatusOr<OpDesc> Flatten::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  const Shape& in = inputs[0];
  const auto rank = static_cast<int64_t>(in.size());
  if (options.axis < 0 || options.axis > rank) {
    return Refused("axis ", options.axis, " of an input of ", rank, " dimensions: ", ToString(in),
                   " has 0 to ", rank);
  }
  const auto axis = in.begin() + options.axis;
  return OneOutput({Elements(Shape(in.begin(), axis)), Elements(Shape(axis, in.end()))});
}

std::string Flatten::Text() const {
  return options.axis == 1 ? "" : absl::StrCat("from axis ", options.axis);
}

absl::StatusOr<OpDesc> Transpose::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  const Shape& in = inputs[0];
  GG_RETURN_IF_ERROR(CheckForEach(in, options.permutation.size(), "places"));
  const auto rank = static_cast<int64_t>(in.size());
  std::vector<bool> taken(in.size());
  Shape out;
  for (const int64_t from : options.permutation) {
    if (from < 0 || from >= rank || taken[from]) {
      return Refused("its permutation ", absl::StrJoin(options.permutation, ","),
                     " must name each of 0 to ", rank - 1, " once");
    }
    taken[from] = true;
    out.push_back(in[from]);
  }
  return OneOutput(std::move(out));
}

std::string Transpose::Text() const {
  return absl::StrJoin(options.permutation, ",");
}

absl::StatusOr<OpDesc> Concat::Describe(absl::Span<const Shape> inputs) const {
  if (inputs.empty()) return Refused("takes at least one input, got none");
  GG_RETURN_IF_ERROR(CheckInputs(inputs, inputs.size()));
  GG_ASSIGN_OR_RETURN(const size_t axis, CheckAxis(options.axis, inputs[0]));
  Shape out = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Shape& in = inputs[i];
    bool fits = in.size() == out.size();
    for (size_t d = 0; fits && d < in.size(); ++d) fits = d == axis || in[d] == out[d];
    if (!fits) {
      return Refused("its inputs 0 and ", i, " are ", ToString(inputs[0]), " and ", ToString(in),
                     ": all dimensions but ", axis, " must be equal");
    }
    out[axis] = CappedSum(out[axis], in[axis]);
  }
  return OneOutput(std::move(out));
}

std::string Concat::Text() const {
  return options.axis == 1 ? "" : absl::StrCat("axis ", options.axis);
}

absl::StatusOr<OpDesc> Slice::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  GG_ASSIGN_OR_RETURN(const size_t axis, CheckAxis(options.axis, inputs[0]));
  const int64_t size = inputs[0][axis];
  if (options.begin < 0 || options.end > size || options.begin >= options.end) {
    return Refused("takes ", options.begin, " .. ", options.end, " of dimension ", axis,
                   ", which has ", size, ": needs 0 <= begin < end <= ", size);
  }
  if (options.step < 1) return Refused("step is ", options.step, ", must be at least 1");
  Shape out = inputs[0];
  out[axis] = (options.end - options.begin - 1) / options.step + 1;
  return OneOutput(std::move(out));
}

std::string Slice::Text() const {
  return absl::StrCat("axis ", options.axis, ", ", options.begin, " to ", options.end,
                      options.step == 1 ? "" : absl::StrCat(", every ", options.step));
}

absl::StatusOr<OpDesc> Pad::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  GG_RETURN_IF_ERROR(CheckForEach(inputs[0], options.before.size(), "paddings before"));
  GG_RETURN_IF_ERROR(CheckForEach(inputs[0], options.after.size(), "paddings after"));
  if (std::isnan(options.value)) return Refused("pads with a value that is no number");
  Shape out = inputs[0];
  for (size_t d = 0; d < out.size(); ++d) {
    for (const int64_t pad : {options.before[d], options.after[d]}) {
      if (pad < 0) {
        return Refused("padding of dimension ", d, " is ", pad,
                       ", must be at least 0: use a slice "
                       "to take away");
      }
      out[d] = CappedSum(out[d], pad);
    }
  }
  return OneOutput(std::move(out));
}

std::string Pad::Text() const {
  return absl::StrCat("before ", absl::StrJoin(options.before, ","), ", after ",
                      absl::StrJoin(options.after, ","),
                      options.value == 0 ? "" : absl::StrCat(", with ", options.value));
}

absl::StatusOr<OpDesc> Expand::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  const Shape& in = inputs[0];
  GG_RETURN_IF_ERROR(CheckForEach(in, options.shape.size(), "sizes"));
  Shape out = options.shape;
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 0) out[d] = in[d];
    if (in[d] != 1 && in[d] != out[d]) {
      return Refused("dimension ", d, " of ", ToString(in), " cannot become ", out[d],
                     ": only a dimension of 1 can");
    }
  }
  return OneOutput(std::move(out));
}

std::string Expand::Text() const {
  return absl::StrCat("to ", ToString(options.shape));
}

}  // namespace gg::model
