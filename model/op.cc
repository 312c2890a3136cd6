// SPDX-License-Identifier: Apache-2.0
#include "model/op.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gg::model {
namespace {

constexpr int64_t kCap = std::numeric_limits<int64_t>::max();

}  // namespace

int64_t CappedProduct(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kCap : product;
}

int64_t CappedSum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kCap : sum;
}

int64_t Elements(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t dimension : shape) elements = CappedProduct(elements, dimension);
  return elements;
}

std::string ToString(const Shape& shape) {
  return shape.empty() ? "scalar" : absl::StrJoin(shape, "x");
}

absl::Status CheckShape(const Shape& shape, absl::string_view what) {
  int64_t elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1) {
      return absl::InvalidArgumentError(absl::StrCat(what, " is ", ToString(shape), ": dimension ",
                                                     i, " is ", shape[i], ", must be at least 1"));
    }
    elements = CappedProduct(elements, shape[i]);
    if (elements > kMostElements) {
      return absl::InvalidArgumentError(absl::StrCat(what, " is ", ToString(shape),
                                                     ": a tensor has at most 2^40 elements, use "
                                                     "smaller dimensions"));
    }
  }
  return absl::OkStatus();
}

}  // namespace gg::model
