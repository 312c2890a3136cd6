// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/status.h"
#include "worker/optim/rules.h"

namespace gg {
namespace {

// Layer-wise adaptive moments (You et al., arXiv 1904.00962, algorithm 2, phi the identity), for
// each parameter: with r the direction of AdamW (kernels/device.h, AdamDirection)
//   w = w - rate (|w| / |r|) r, the ratio 1 where a norm is zero
class Lamb : public LayerwiseRule {
 public:
  using LayerwiseRule::LayerwiseRule;

  absl::Status Build() {
    GG_RETURN_IF_ERROR(parts_.arena->AllocateState(device(), 2));
    GG_ASSIGN_OR_RETURN(direction_, device().Allocate(LargestRange() * sizeof(float)));
    return absl::OkStatus();
  }

 private:
  absl::Status Apply(const ParamRange& range, uint64_t step, double rate) override {
    const AdamParams params = AdamParamsOf(spec(), range, step, rate, /*decoupled_decay=*/true);
    const Flat r = direction_->floats().subspan(0, range.count);
    GG_RETURN_IF_ERROR(device().AdamDirection(stream(), params, Gradients(range), Weights(range),
                                              State(0, range), State(1, range), r));
    GG_ASSIGN_OR_RETURN(const double weights, Norm(Weights(range)));
    GG_ASSIGN_OR_RETURN(const double length, Norm(r));
    const double ratio = weights > 0 && length > 0 ? weights / length : 1;
    return device().Axpby(stream(), static_cast<float>(-rate * ratio), r, 1, Weights(range));
  }

  std::unique_ptr<Buffer> direction_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeLamb(RuleParts parts) {
  auto lamb = std::make_unique<Lamb>(std::move(parts));
  GG_RETURN_IF_ERROR(lamb->Build());
  return lamb;
}

}  // namespace gg
