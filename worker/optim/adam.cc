// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/status.h"
#include "worker/optim/rules.h"

namespace gg {
namespace {

// Adam (Kingma and Ba, arXiv 1412.6980) and AdamW (Loshchilov and Hutter, arXiv 1711.05101). State:
// the first and the second moment. Every block is updated once in each step, so that the number of
// its updates is that of the step.
class Adam : public ElementwiseRule {
 public:
  Adam(RuleParts parts, bool decoupled_decay)
      : ElementwiseRule(std::move(parts)), decoupled_decay_(decoupled_decay) {}

 private:
  absl::Status Apply(const ParamRange& range, uint64_t step, double rate) override {
    const AdamParams params = AdamParamsOf(spec(), range, step, rate, decoupled_decay_);
    return device().Adam(stream(), params, Gradients(range), State(0, range), State(1, range),
                         Weights(range));
  }

  const bool decoupled_decay_;
};

absl::StatusOr<std::unique_ptr<Optimizer>> Make(RuleParts parts, bool decoupled_decay) {
  GG_RETURN_IF_ERROR(parts.arena->AllocateState(*parts.device, 2));
  return std::make_unique<Adam>(std::move(parts), decoupled_decay);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdam(RuleParts parts) {
  return Make(std::move(parts), /*decoupled_decay=*/false);
}

absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdamW(RuleParts parts) {
  return Make(std::move(parts), /*decoupled_decay=*/true);
}

}  // namespace gg
