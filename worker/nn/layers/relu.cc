// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/relu.h"

#include <utility>

namespace gg {
namespace {

class ReluLayer : public Layer {
 public:
  using Layer::Layer;

  absl::StatusOr<InputShape> OutputShape(const InputShape& input) const override { return input; }
  bool in_place() const override { return true; }
  bool reads_output() const override { return true; }

  absl::Status Bind(Device& device, const BindOptions& options) override {
    device_ = &device;
    return absl::OkStatus();
  }

  absl::Status Forward(Stream& stream, uint64_t step, Tensors weights, ConstFlat x,
                       Flat y) override {
    return device_->Relu(stream, x, y);
  }
  absl::Status BackwardData(Stream& stream, Tensors weights, ConstFlat x, ConstFlat y, ConstFlat dy,
                            Flat dx) override {
    return device_->ReluBackward(stream, y, dy, dx);
  }

 private:
  Device* device_ = nullptr;
};

}  // namespace

std::unique_ptr<Layer> MakeRelu(std::string name) {
  return std::make_unique<ReluLayer>(std::move(name));
}

}  // namespace gg
