// SPDX-License-Identifier: Apache-2.0
#include "model/ops/elementwise.h"

#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {
namespace {

struct UnaryKind {
  const char* name;
  int numbers;  // how many of a and b it has
};

// By UnaryOptions::Kind.
constexpr UnaryKind kUnaryKinds[] = {
    {"relu", 0},      {"leaky_relu", 1}, {"sigmoid", 0},      {"tanh", 0},       {"gelu", 0},
    {"gelu_tanh", 0}, {"silu", 0},       {"hard_sigmoid", 2}, {"hard_swish", 0}, {"clip", 2},
    {"erf", 0},       {"sqrt", 0},       {"power", 1},        {"affine", 2}};
static_assert(std::size(kUnaryKinds) == UnaryOptions::kAffine + 1);

constexpr const char* kBinaryKinds[] = {"add", "subtract", "multiply", "divide"};
static_assert(std::size(kBinaryKinds) == BinaryOptions::kDivide + 1);

}  // namespace

absl::StatusOr<OpDesc> Unary::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  const UnaryKind& kind = kUnaryKinds[options.kind];
  const bool infinite_clip = options.kind == UnaryOptions::kClip;  // one side may be open
  const auto possible = [&](double number) {
    return infinite_clip ? !std::isnan(number) : std::isfinite(number);
  };
  if ((kind.numbers > 0 && !possible(options.a)) || (kind.numbers > 1 && !possible(options.b))) {
    return Refused(Text(), ": its numbers must be finite");
  }
  if (options.kind == UnaryOptions::kClip && options.a > options.b) {
    return Refused("clips to ", options.a, " .. ", options.b,
                   ": the lower end must not be above the upper");
  }
  OpDesc desc;
  desc.outputs = {inputs[0]};
  return desc;
}

std::string Unary::Text() const {
  const UnaryKind& kind = kUnaryKinds[options.kind];
  std::string text = kind.name;
  if (kind.numbers > 0) absl::StrAppend(&text, " ", options.a);
  if (kind.numbers > 1) absl::StrAppend(&text, " ", options.b);
  return text;
}

absl::StatusOr<OpDesc> Binary::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 2));
  GG_ASSIGN_OR_RETURN(Shape out, Broadcast(inputs[0], inputs[1]));
  GG_RETURN_IF_ERROR(CheckShape(out, "its output"));
  OpDesc desc;
  desc.outputs = {std::move(out)};
  return desc;
}

std::string Binary::Text() const {
  return kBinaryKinds[options.kind];
}

absl::StatusOr<OpDesc> Dropout::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  if (!(options.probability >= 0 && options.probability < 1)) {
    return Refused("dropout probability is ", options.probability,
                   ", must be at least 0 and below 1");
  }
  OpDesc desc;
  desc.outputs = {inputs[0]};
  return desc;
}

std::string Dropout::Text() const {
  return absl::StrCat("probability ", options.probability);
}

}  // namespace gg::model
