// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/status.h"
#include "worker/optim/rules.h"

namespace gg {
namespace {

// Layer-wise adaptive rate scaling (You, Gitman, Ginsburg, arXiv 1708.03888, algorithm 1), for each
// parameter:
//   local = trust |w| / (|g| + decay |w|), or 1 where a norm is zero
//   v = momentum v + rate local (g + decay w);  w = w - v
class Lars : public LayerwiseRule {
 public:
  using LayerwiseRule::LayerwiseRule;

 private:
  absl::Status Apply(const ParamRange& range, uint64_t /*step*/, double rate) override {
    GG_ASSIGN_OR_RETURN(const double weights, Norm(Weights(range)));
    GG_ASSIGN_OR_RETURN(const double gradient, Norm(Gradients(range)));
    double local = 1;
    if (weights > 0 && gradient > 0) {
      local = spec().trust_coefficient * weights / (gradient + range.weight_decay * weights);
    }
    const SgdParams params{.learning_rate = static_cast<float>(rate * local),
                           .momentum = static_cast<float>(spec().momentum),
                           .weight_decay = static_cast<float>(range.weight_decay)};
    return device().SgdMomentum(stream(), params, Gradients(range), State(0, range),
                                Weights(range));
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeLars(RuleParts parts) {
  const int vectors = parts.spec.momentum > 0 ? 1 : 0;
  GG_RETURN_IF_ERROR(parts.arena->AllocateState(*parts.device, vectors));
  return std::make_unique<Lars>(std::move(parts));
}

}  // namespace gg
