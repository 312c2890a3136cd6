// SPDX-License-Identifier: Apache-2.0
//
// y = conv(x, w) + b over (N, C, H, W). Parameters: weight (O, C / groups, KH, KW), bias (O).
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_CONVOLUTION_H_
#define GOSSIPGRAD_MODEL_OPS_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include "model/op.h"
#include "model/ops/window.h"

namespace gg::model {

struct ConvolutionOptions {
  int64_t out_channels;
  Window window = {};
  int64_t groups = 1;
  bool bias = true;
  // Default: uniform within sqrt(3 / fan-in) (Caffe's xavier), fan-in = C / groups * KH * KW; bias zero.
  std::optional<Initializer> weight_initial = std::nullopt, bias_initial = std::nullopt;
};

class Convolution final : public Op {
 public:
  explicit Convolution(ConvolutionOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "convolution"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const ConvolutionOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_CONVOLUTION_H_
