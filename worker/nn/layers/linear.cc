// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/linear.h"

#include <cmath>
#include <utility>

#include "core/status.h"
#include "worker/nn/layers/bias.h"

namespace gg {
namespace {

class LinearLayer : public Layer {
 public:
  LinearLayer(std::string name, int64_t out_features, bool bias)
      : Layer(std::move(name)), out_features_(out_features), has_bias_(bias) {}

  absl::StatusOr<InputShape> OutputShape(const InputShape& input) const override {
    return InputShape{out_features_, 1, 1};
  }

  std::vector<ParameterSpec> Parameters(const InputShape& input) const override {
    const int64_t fan_in = input.floats();
    std::vector<ParameterSpec> parameters = {
        {.name = "weight",
         .shape = {out_features_, fan_in},
         .bound = std::sqrt(3.0f / static_cast<float>(fan_in))}};
    if (has_bias_) parameters.push_back({.name = "bias", .shape = {out_features_}, .bound = 0});
    return parameters;
  }

  absl::Status Bind(Device& device, const BindOptions& options) override {
    GG_ASSIGN_OR_RETURN(op_, device.MakeLinear({.batch = options.batch,
                                                .in_features = options.input.floats(),
                                                .out_features = out_features_}));
    return bias_.Bind(device, has_bias_, out_features_);
  }

  absl::Status Forward(Stream& stream, uint64_t step, Tensors weights, ConstFlat x,
                       Flat y) override {
    return op_->Forward(stream, x, weights[0], bias_.value(weights), y);
  }
  absl::Status BackwardParams(Stream& stream, ConstFlat x, ConstFlat dy,
                              Tensors gradients) override {
    return op_->BackwardParams(stream, x, dy, gradients[0], bias_.gradient(gradients));
  }
  absl::Status BackwardData(Stream& stream, Tensors weights, ConstFlat x, ConstFlat y, ConstFlat dy,
                            Flat dx) override {
    return op_->BackwardData(stream, dy, weights[0], dx);
  }

 private:
  const int64_t out_features_;
  const bool has_bias_;
  std::unique_ptr<Linear> op_;
  Bias bias_;
};

}  // namespace

std::unique_ptr<Layer> MakeLinearLayer(std::string name, int64_t out_features, bool bias) {
  return std::make_unique<LinearLayer>(std::move(name), out_features, bias);
}

}  // namespace gg
