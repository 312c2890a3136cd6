// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_cat.h"
#include "worker/optim/optimizer.h"

namespace gg {
namespace {

// Gradient descent with momentum in Caffe's convention, or Nesterov's (kernels/device.h). Weight
// decay takes in the biases. The gaps between blocks stay zero: zero gradient, zero momentum, zero weight give
// zero.
class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerSpec& spec, Device& device, Stream& stream, ParamArena& arena)
      : momentum_(static_cast<float>(spec.momentum)),
        weight_decay_(static_cast<float>(spec.weight_decay)),
        nesterov_(spec.nesterov),
        device_(device),
        stream_(stream),
        arena_(arena) {}

  absl::Status Update(BlockIndex block, double rate) override {
    if (block < 0 || block >= arena_.block_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("block ", block, " is outside 0 .. ", arena_.block_count() - 1));
    }
    return UpdateRange(arena_.block(block).offset, arena_.block(block).count, rate);
  }

  absl::Status UpdateRange(size_t offset, size_t count, double rate) override {
    if (offset > arena_.size() || count > arena_.size() - offset) {
      return absl::InvalidArgumentError(absl::StrCat("floats ", offset, " .. ", offset + count,
                                                     " are outside 0 .. ", arena_.size()));
    }
    // An infinite rate would write NaN into the gaps as well.
    if (!std::isfinite(rate)) {
      return absl::InvalidArgumentError(
          absl::StrCat("learning rate is ", rate, ": check learning_rate of the job"));
    }
    const SgdParams params{.learning_rate = static_cast<float>(rate),
                           .momentum = momentum_,
                           .weight_decay = weight_decay_,
                           .nesterov = nesterov_};
    return device_.SgdMomentum(stream_, params, arena_.gradients().subspan(offset, count),
                               arena_.momentum().subspan(offset, count),
                               arena_.weights().subspan(offset, count));
  }

 private:
  const float momentum_, weight_decay_;
  const bool nesterov_;
  Device& device_;
  Stream& stream_;
  ParamArena& arena_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerSpec& spec, Device& device,
                                                         Stream& stream, ParamArena& arena) {
  if (spec.name != "sgd") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown optimizer '", spec.name, "': known is sgd"));
  }
  if (!(spec.momentum >= 0 && spec.momentum < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer momentum is ", spec.momentum, ", must be at least 0 and below 1"));
  }
  if (!(spec.weight_decay >= 0) || !std::isfinite(spec.weight_decay)) {
    return absl::InvalidArgumentError(absl::StrCat("optimizer weight_decay is ", spec.weight_decay,
                                                   ", must be at least 0 and finite"));
  }
  return std::make_unique<Sgd>(spec, device, stream, arena);
}

}  // namespace gg
