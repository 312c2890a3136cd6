// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/dropout.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/status.h"

namespace gg {
namespace {

class Dropout : public Layer {
 public:
  Dropout(std::string name, double probability)
      : Layer(std::move(name)), probability_(probability) {}

  absl::StatusOr<InputShape> OutputShape(const InputShape& input) const override {
    if (!(probability_ >= 0 && probability_ < 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          name(), ": dropout probability is ", probability_, ", must be at least 0 and below 1"));
    }
    return input;
  }
  bool in_place() const override { return true; }
  bool training_only() const override { return true; }

  absl::Status Bind(Device& device, const BindOptions& options) override {
    device_ = &device;
    seed_ = options.seed;
    random_stream_ = absl::StrCat("dropout/", name(), "/", options.rank);
    const size_t floats = static_cast<size_t>(options.batch * options.input.floats());
    GG_ASSIGN_OR_RETURN(mask_buffer_, device.Allocate(floats * sizeof(float)));
    mask_ = mask_buffer_->floats();
    return absl::OkStatus();
  }

  absl::Status Forward(Stream& stream, uint64_t step, Tensors weights, ConstFlat x,
                       Flat y) override {
    Rng rng(seed_, random_stream_, step);
    const float drop = static_cast<float>(probability_);
    const float keep = static_cast<float>(1.0 / (1.0 - probability_));
    for (float& m : mask_) m = rng.Uniform() < drop ? 0.0f : keep;
    return device_->Multiply(stream, x, mask_, y);
  }
  absl::Status BackwardData(Stream& stream, Tensors weights, ConstFlat x, ConstFlat y, ConstFlat dy,
                            Flat dx) override {
    return device_->Multiply(stream, dy, mask_, dx);
  }

 private:
  const double probability_;
  Device* device_ = nullptr;
  uint64_t seed_ = 0;
  std::string random_stream_;  // one per layer and rank; its index is the step
  std::unique_ptr<Buffer> mask_buffer_;
  Flat mask_;
};

}  // namespace

std::unique_ptr<Layer> MakeDropout(std::string name, double probability) {
  return std::make_unique<Dropout>(std::move(name), probability);
}

}  // namespace gg
