// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/batch_norm.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

class BatchNormLayer : public Layer {
 public:
  using Layer::Layer;

  absl::StatusOr<InputShape> OutputShape(const InputShape& input) const override { return input; }

  std::vector<ParameterSpec> Parameters(const InputShape& input) const override {
    return {{.name = "gamma", .shape = {input.channels}, .bound = 0, .centre = 1},
            {.name = "beta", .shape = {input.channels}, .bound = 0}};
  }
  std::vector<BufferSpec> Buffers(const InputShape& input) const override {
    const auto channels = static_cast<size_t>(input.channels);
    return {{.count = channels, .initial = 0}, {.count = channels, .initial = 1}};
  }
  bool joins_block_below() const override { return true; }

  absl::Status Bind(Device& device, const BindOptions& options) override {
    const int64_t spatial = options.input.height * options.input.width;
    if (options.batch * spatial < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch normalisation of one value per channel: a batch of ", options.batch,
                       " has no variance, use a batch size of at least 2"));
    }
    GG_ASSIGN_OR_RETURN(
        op_, device.MakeBatchNorm(
                 {.batch = options.batch, .channels = options.input.channels, .spatial = spatial}));
    running_mean_ = options.buffers[0];
    running_variance_ = options.buffers[1];
    return absl::OkStatus();
  }

  absl::Status Forward(Stream& stream, uint64_t step, Tensors weights, ConstFlat x,
                       Flat y) override {
    return op_->Forward(stream, x, weights[0], weights[1], running_mean_, running_variance_, y);
  }
  absl::Status Infer(Stream& stream, Tensors weights, ConstFlat x, Flat y) override {
    return op_->Infer(stream, x, weights[0], weights[1], running_mean_, running_variance_, y);
  }
  absl::Status BackwardParams(Stream& stream, ConstFlat x, ConstFlat dy,
                              Tensors gradients) override {
    return op_->BackwardParams(stream, x, dy, gradients[0], gradients[1]);
  }
  absl::Status BackwardData(Stream& stream, Tensors weights, ConstFlat x, ConstFlat y, ConstFlat dy,
                            Flat dx) override {
    return op_->BackwardData(stream, x, dy, weights[0], dx);
  }

 private:
  std::unique_ptr<BatchNorm> op_;
  Flat running_mean_, running_variance_;
};

}  // namespace

std::unique_ptr<Layer> MakeBatchNormLayer(std::string name) {
  return std::make_unique<BatchNormLayer>(std::move(name));
}

}  // namespace gg
