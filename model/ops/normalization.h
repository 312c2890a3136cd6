// SPDX-License-Identifier: Apache-2.0
//
// Normalisations. BatchNorm: per channel (dimension 1) over batch and space; parameters weight (ones) and bias (zeros), both
// (C); buffers running_mean (zeros), running_var (ones). LayerNorm: over the last dimensions; parameters weight and bias of
// their shape. Lrn: across channels, y = x / (bias + alpha / size * sum of squares of `size` channels around)^beta
// (Krizhevsky et al. 2012 in Caffe's and PyTorch's convention).
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_NORMALIZATION_H_
#define GOSSIPGRAD_MODEL_OPS_NORMALIZATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include "model/op.h"

namespace gg::model {

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum =
      0.1;  // share of the batch in the running values (PyTorch's convention; ONNX has 1 - this)
  float weight_initial = 1;
};
struct LayerNormOptions {
  int64_t dimensions = 1;  // the last ones, together
  double epsilon = 1e-5;
  bool affine = true;
};
struct LrnOptions {
  int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, bias = 1;
};

class BatchNorm final : public Op {
 public:
  explicit BatchNorm(BatchNormOptions given) : options(std::move(given)) {}
  bool joins_block_before() const override { return true; }
  absl::string_view kind() const override { return "batch_norm"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const BatchNormOptions options;
};

class LayerNorm final : public Op {
 public:
  explicit LayerNorm(LayerNormOptions given) : options(std::move(given)) {}
  bool joins_block_before() const override { return true; }
  absl::string_view kind() const override { return "layer_norm"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const LayerNormOptions options;
};

class Lrn final : public Op {
 public:
  explicit Lrn(LrnOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "lrn"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const LrnOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_NORMALIZATION_H_
