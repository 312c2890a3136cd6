// SPDX-License-Identifier: Apache-2.0
//
// Functions of single elements, and of two values element by element with NumPy's broadcasting.
//
//   relu | sigmoid | tanh | erf | sqrt | silu x sigmoid(x) | hard_swish x max(0, min(6, x + 3)) / 6
//   leaky_relu x > 0 ? x : a x | gelu x Phi(x) | gelu_tanh its approximation | power x^a
//   hard_sigmoid max(0, min(1, a x + b)) | clip max(a, min(b, x)) | affine a x + b
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_ELEMENTWISE_H_
#define GOSSIPGRAD_MODEL_OPS_ELEMENTWISE_H_

#include <string>
#include <utility>
#include "model/op.h"

namespace gg::model {

struct UnaryOptions {
  enum Kind {
    kRelu,
    kLeakyRelu,
    kSigmoid,
    kTanh,
    kGelu,
    kGeluTanh,
    kSilu,
    kHardSigmoid,
    kHardSwish,
    kClip,
    kErf,
    kSqrt,
    kPower,
    kAffine
  } kind = kRelu;
  double a = 0, b = 0;
};
struct BinaryOptions {
  enum Kind { kAdd, kSubtract, kMultiply, kDivide } kind = kAdd;
};
// y = x * mask / (1 - probability) in training, x at inference; the mask is drawn anew in each step.
struct DropoutOptions {
  double probability = 0.5;  // of zero, [0, 1)
};

class Unary final : public Op {
 public:
  explicit Unary(UnaryOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "unary"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const UnaryOptions options;
};

class Binary final : public Op {
 public:
  explicit Binary(BinaryOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "binary"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const BinaryOptions options;
};

class Dropout final : public Op {
 public:
  explicit Dropout(DropoutOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "dropout"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const DropoutOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_ELEMENTWISE_H_
