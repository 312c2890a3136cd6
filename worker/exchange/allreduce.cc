// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/allreduce.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/needs_all.h"
#include "worker/exchange/units.h"

namespace gg {
namespace {

class AllReduce final : public NeedsAll {
 public:
  AllReduce(ExchangeContext context, bool layerwise)
      : NeedsAll(std::move(context)),
        layerwise_(layerwise),
        plan_(layerwise ? PlanUnits(*context_.arena, 1, context_.spec.bucket_bytes)
                        : WholeArena(*context_.arena)),
        ready_(plan_.units.size()),
        open_step_(plan_.units.size()) {}

  absl::Status Build() {
    std::vector<AverageLane> lanes;
    for (const ExchangeUnit& unit : plan_.units) lanes.push_back({.floats = unit.count});
    GG_ASSIGN_OR_RETURN(averager_, Averager::Create(context_, lanes));
    return absl::OkStatus();
  }

  absl::string_view name() const override {
    return layerwise_ ? "allreduce-layerwise" : "allreduce";
  }

  absl::Status BeginStep(uint64_t step) override {
    ready_.assign(ready_.size(), 0);
    return NeedsAll::BeginStep(step);
  }

  absl::Status BlockNeeded(BlockIndex block) override { return Close(plan_.unit_of_block[block]); }

  absl::Status GradientReady(BlockIndex block) override {
    const int unit = plan_.unit_of_block[block];
    const ExchangeUnit& u = plan_.units[unit];
    if (++ready_[unit] < u.blocks) return absl::OkStatus();
    open_step_[unit] = step_;
    const ConstFlat gradients = Gradients(unit);
    return averager_->Start(unit, step_, {&gradients, 1}, stats_);
  }

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    steps_done_ = step + 1;
    if (!layerwise_) GG_RETURN_IF_ERROR(CloseAll());
    context_.group->Expire(Channel::kCollective, step * kCollectivesPerStep);
    return std::exchange(stats_, ExchangeStats());
  }

  absl::StatusOr<ExchangeStats> Settle() override {
    GG_RETURN_IF_ERROR(average_.aborted());
    GG_RETURN_IF_ERROR(CloseAll());
    return NeedsAll::Settle();
  }

 private:
  static UnitPlan WholeArena(const ParamArena& arena) {
    return {.units = {{.first = 0,
                       .blocks = static_cast<int>(arena.block_count()),
                       .offset = 0,
                       .count = arena.size()}},
            .unit_of_block = std::vector<int>(arena.block_count(), 0)};
  }

  Flat Gradients(int unit) {
    const ExchangeUnit& u = plan_.units[unit];
    return context_.arena->gradients().subspan(u.offset, u.count);
  }

  absl::Status CloseAll() {
    for (int unit = 0; unit < static_cast<int>(plan_.units.size()); ++unit) {
      GG_RETURN_IF_ERROR(Close(unit));
    }
    return absl::OkStatus();
  }

  // Waits for the unit's mean gradient and updates its blocks with it.
  absl::Status Close(int unit) {
    if (!averager_->busy(unit)) return absl::OkStatus();
    const absl::StatusOr<Flat> mean = averager_->Await(unit, Deadline(), stats_);
    if (!mean.ok()) {
      return Annotate(mean.status(), absl::StrCat(name(), " of step ", open_step_[unit]));
    }
    const ConstFlat own = Gradients(unit);
    const absl::Status finite = CheckMean(*mean, {&own, 1}, "gradients");
    if (!finite.ok()) return Annotate(finite, absl::StrCat(name(), " of step ", open_step_[unit]));
    GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, *mean, Gradients(unit)));
    const ExchangeUnit& u = plan_.units[unit];
    for (BlockIndex b = u.first; b < u.first + u.blocks; ++b) {
      GG_RETURN_IF_ERROR(context_.update(b, open_step_[unit]));
    }
    return absl::OkStatus();
  }

  const bool layerwise_;
  const UnitPlan plan_;
  std::vector<int> ready_;           // gradients of each unit that are there
  std::vector<uint64_t> open_step_;  // of each unit's collective
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeAllReduce(ExchangeContext context,
                                                                bool layerwise) {
  auto strategy = std::make_unique<AllReduce>(std::move(context), layerwise);
  GG_RETURN_IF_ERROR(strategy->Build());
  return strategy;
}

}  // namespace gg
