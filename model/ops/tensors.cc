// SPDX-License-Identifier: Apache-2.0
#include "model/ops/tensors.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {

absl::StatusOr<OpDesc> MatMul::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 2));
  Shape a = inputs[0], b = inputs[1];
  if (a.size() < 2 || b.size() < 2) {
    return Refused("its inputs ", ToString(a), " and ", ToString(b),
                   " must have at least two dimensions each");
  }
  if (options.transpose_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (options.transpose_b) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (a.back() != b[b.size() - 2]) {
    return Refused("its inputs are ", ToString(a), " and ", ToString(b),
                   ": the last dimension of the first must be the last but one of the second");
  }
  const int64_t rows = a[a.size() - 2], terms = a.back(), columns = b.back();
  GG_ASSIGN_OR_RETURN(Shape out,
                      Broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  out.insert(out.end(), {rows, columns});
  GG_RETURN_IF_ERROR(CheckShape(out, "its output"));
  OpDesc desc;
  desc.multiply_adds = CappedProduct(Elements(out), terms);
  desc.outputs = {std::move(out)};
  return desc;
}

std::string MatMul::Text() const {
  return absl::StrCat("a", options.transpose_a ? "^T" : "", " b", options.transpose_b ? "^T" : "");
}

absl::StatusOr<OpDesc> Embedding::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 1));
  GG_RETURN_IF_ERROR(CheckCount(options.count, "the number of rows"));
  GG_RETURN_IF_ERROR(CheckCount(options.width, "the width of a row"));
  const Shape weight = {options.count, options.width};
  GG_RETURN_IF_ERROR(CheckShape(weight, "its weight"));
  OpDesc desc;
  desc.outputs = {inputs[0]};
  desc.outputs[0].push_back(options.width);
  GG_RETURN_IF_ERROR(CheckShape(desc.outputs[0], "its output"));
  desc.parameters = {
      {.name = "weight", .shape = weight, .initial = {.kind = Initializer::kNormal, .bound = 1}}};
  return desc;
}

std::string Embedding::Text() const {
  return absl::StrCat(options.count, " rows of ", options.width);
}

absl::StatusOr<OpDesc> ParameterValue::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 0));
  GG_RETURN_IF_ERROR(CheckShape(options.shape, "its shape"));
  OpDesc desc;
  desc.outputs = {options.shape};
  desc.parameters = {{.name = "value", .shape = options.shape, .initial = options.initial}};
  return desc;
}

std::string ParameterValue::Text() const {
  return ToString(options.shape);
}

absl::StatusOr<OpDesc> Constant::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckInputs(inputs, 0));
  GG_RETURN_IF_ERROR(CheckShape(options.shape, "its shape"));
  if (static_cast<int64_t>(options.values.size()) != Elements(options.shape)) {
    return Refused("has ", options.values.size(), " values, ", ToString(options.shape), " holds ",
                   Elements(options.shape));
  }
  OpDesc desc;
  desc.outputs = {options.shape};
  return desc;
}

std::string Constant::Text() const {
  return ToString(options.shape);
}

}  // namespace gg::model
