// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/status.h"
#include "worker/optim/rules.h"

namespace gg {
namespace {

// Gradient descent with momentum, Nesterov's or not, in Caffe's convention or PyTorch's
// (kernels/device.h).
class Sgd : public ElementwiseRule {
 public:
  Sgd(RuleParts parts, bool rate_in_momentum)
      : ElementwiseRule(std::move(parts)), rate_in_momentum_(rate_in_momentum) {}

 private:
  absl::Status Apply(const ParamRange& range, uint64_t /*step*/, double rate) override {
    const SgdParams params{.learning_rate = static_cast<float>(rate),
                           .momentum = static_cast<float>(spec().momentum),
                           .weight_decay = static_cast<float>(range.weight_decay),
                           .nesterov = spec().nesterov,
                           .rate_in_momentum = rate_in_momentum_};
    return device().SgdMomentum(stream(), params, Gradients(range), State(0, range),
                                Weights(range));
  }

  const bool rate_in_momentum_;
};

absl::StatusOr<std::unique_ptr<Optimizer>> Make(RuleParts parts, bool rate_in_momentum) {
  const int vectors = parts.spec.momentum > 0 ? 1 : 0;
  GG_RETURN_IF_ERROR(parts.arena->AllocateState(*parts.device, vectors));
  return std::make_unique<Sgd>(std::move(parts), rate_in_momentum);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeSgd(RuleParts parts) {
  return Make(std::move(parts), /*rate_in_momentum=*/true);
}

absl::StatusOr<std::unique_ptr<Optimizer>> MakeSgdPyTorch(RuleParts parts) {
  return Make(std::move(parts), /*rate_in_momentum=*/false);
}

}  // namespace gg
