// SPDX-License-Identifier: Apache-2.0
//
// Products of two values, and values that do not come from the input. MatMul: over the last two dimensions, those before them
// broadcast. Embedding: rows of the parameter weight (count, width) by whole numbers. ParameterValue: a parameter as a value
// (no input), for what the graph adds or multiplies; its first dimension is 1 or absent. Constant: the same, not trained.
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_TENSORS_H_
#define GOSSIPGRAD_MODEL_OPS_TENSORS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "model/op.h"

namespace gg::model {

struct MatMulOptions {
  bool transpose_a = false, transpose_b = false;  // the last two dimensions
};
struct EmbeddingOptions {
  int64_t count, width;
};
struct ParameterValueOptions {
  Shape shape;
  Initializer initial;
};
struct ConstantOptions {
  Shape shape;
  std::vector<float> values;
};

class MatMul final : public Op {
 public:
  explicit MatMul(MatMulOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "matmul"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const MatMulOptions options;
};

class Embedding final : public Op {
 public:
  explicit Embedding(EmbeddingOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "embedding"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const EmbeddingOptions options;
};

class ParameterValue final : public Op {
 public:
  explicit ParameterValue(ParameterValueOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "parameter"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const ParameterValueOptions options;
};

class Constant final : public Op {
 public:
  explicit Constant(ConstantOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "constant"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const ConstantOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_TENSORS_H_
