// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/convolution.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/nn/layers/bias.h"

namespace gg {
namespace {

class Convolution : public Layer {
 public:
  Convolution(std::string name, const ConvolutionOptions& options)
      : Layer(std::move(name)), options_(options) {}

  absl::StatusOr<InputShape> OutputShape(const InputShape& input) const override {
    if (input.height + 2 * options_.pad < options_.kernel ||
        input.width + 2 * options_.pad < options_.kernel) {
      return absl::InvalidArgumentError(absl::StrCat(name(), ": its input of ", input.height, "x",
                                                     input.width, " is smaller than its kernel of ",
                                                     options_.kernel, "x", options_.kernel,
                                                     ": use larger images or another model"));
    }
    const Conv2dDesc desc = Describe(1, input);
    return InputShape{options_.out_channels, desc.out_height(), desc.out_width()};
  }

  std::vector<ParameterSpec> Parameters(const InputShape& input) const override {
    const int64_t fan_in = input.channels * options_.kernel * options_.kernel;
    std::vector<ParameterSpec> parameters = {
        {.name = "weight",
         .shape = {options_.out_channels, input.channels, options_.kernel, options_.kernel},
         .bound = std::sqrt(3.0f / static_cast<float>(fan_in))}};
    if (options_.bias) {
      parameters.push_back({.name = "bias", .shape = {options_.out_channels}, .bound = 0});
    }
    return parameters;
  }

  absl::Status Bind(Device& device, const BindOptions& options) override {
    GG_ASSIGN_OR_RETURN(op_, device.MakeConv2d(Describe(options.batch, options.input)));
    return bias_.Bind(device, options_.bias, options_.out_channels);
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
  Conv2dDesc Describe(int64_t batch, const InputShape& input) const {
    return {.batch = batch,
            .in_channels = input.channels,
            .in_height = input.height,
            .in_width = input.width,
            .out_channels = options_.out_channels,
            .kernel_height = options_.kernel,
            .kernel_width = options_.kernel,
            .stride_height = options_.stride,
            .stride_width = options_.stride,
            .pad_height = options_.pad,
            .pad_width = options_.pad};
  }

  const ConvolutionOptions options_;
  std::unique_ptr<Conv2d> op_;
  Bias bias_;
};

}  // namespace

std::unique_ptr<Layer> MakeConvolution(std::string name, const ConvolutionOptions& options) {
  return std::make_unique<Convolution>(std::move(name), options);
}

}  // namespace gg
