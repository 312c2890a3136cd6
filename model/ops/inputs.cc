// SPDX-License-Identifier: Apache-2.0
#include "model/ops/inputs.h"

#include <algorithm>
#include <cmath>

#include "core/status.h"

namespace gg::model {

absl::Status CheckInputs(absl::Span<const Shape> inputs, size_t count) {
  if (inputs.size() != count) {
    return Refused("takes ", count, count == 1 ? " input" : " inputs", ", got ", inputs.size());
  }
  for (size_t i = 0; i < count; ++i) {
    GG_RETURN_IF_ERROR(
        CheckShape(inputs[i], count == 1 ? "its input" : absl::StrCat("its input ", i)));
  }
  return absl::OkStatus();
}

absl::Status CheckImages(absl::Span<const Shape> inputs) {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  if (inputs[0].size() != 4) {
    return Refused("its input is ", ToString(inputs[0]),
                   ", must have four dimensions: batch, channels, height, width");
  }
  return absl::OkStatus();
}

absl::Status CheckCount(int64_t value, absl::string_view what) {
  if (value < 1 || value > kMostElements) {
    return Refused(what, " is ", value, ", must be 1 to 2^40");
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> CheckAxis(int64_t axis, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank) {
    return Refused("axis ", axis, " of an input of ", rank, " dimensions: ", ToString(shape),
                   " has ", -rank, " to ", rank - 1);
  }
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {  // counted from the last dimension
    const int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      return Refused("its inputs ", ToString(a), " and ", ToString(b), " differ in dimension ",
                     rank - 1 - i, ": both must be equal there, or one of them 1");
    }
    out[rank - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return out;
}

Initializer Xavier(int64_t fan_in) {
  return {.kind = Initializer::kUniform, .bound = std::sqrt(3.0f / static_cast<float>(fan_in))};
}

}  // namespace gg::model
