// SPDX-License-Identifier: Apache-2.0
//
// What the ops check of their inputs, in the same words.
// Thread-safety: pure functions. Errors: kInvalidArgument that names the dimension and what would do.
#ifndef GOSSIPGRAD_MODEL_OPS_INPUTS_H_
#define GOSSIPGRAD_MODEL_OPS_INPUTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/op.h"

namespace gg::model {

template <typename... Parts>
absl::Status Refused(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// `count` inputs whose shapes are possible.
absl::Status CheckInputs(absl::Span<const Shape> inputs, size_t count);
// One input (N, C, H, W).
absl::Status CheckImages(absl::Span<const Shape> inputs);
// A number of filters, features, groups: 1 to 2^40. `what` begins the message: "out_channels".
absl::Status CheckCount(int64_t value, absl::string_view what);
// The dimension that `axis` means, counted from the end when negative.
absl::StatusOr<size_t> CheckAxis(int64_t axis, const Shape& shape);
// What two shapes are element by element (NumPy's rule): dimensions from the last on are equal, or one of them is 1.
absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b);

// Uniform within sqrt(3 / fan_in): Caffe's xavier.
Initializer Xavier(int64_t fan_in);

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_INPUTS_H_
