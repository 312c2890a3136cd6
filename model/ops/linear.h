// SPDX-License-Identifier: Apache-2.0
//
// y = x w^T + b over the last dimension of (N, ..., I). Parameters: weight (O, I), bias (O).
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_LINEAR_H_
#define GOSSIPGRAD_MODEL_OPS_LINEAR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include "model/op.h"

namespace gg::model {

struct LinearOptions {
  int64_t out_features;
  bool bias = true;
  // Default as for Convolution, fan-in = I.
  std::optional<Initializer> weight_initial = std::nullopt, bias_initial = std::nullopt;
};

class Linear final : public Op {
 public:
  explicit Linear(LinearOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "linear"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const LinearOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_LINEAR_H_
