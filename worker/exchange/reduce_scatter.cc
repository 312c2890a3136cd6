// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/reduce_scatter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/finite.h"
#include "worker/exchange/needs_all.h"
#include "worker/exchange/units.h"

namespace gg {
namespace {

// Lanes: the reduce-scatters of the units, their all-gathers, the mean of the buffers. The
// collectives of step t are numbered as those of a step k t, the ones that close the run after it as
// those of k t + 1 on, one for each vector of the optimizer's state: the lanes serve all.
class ReduceScatter final : public NeedsAll {
 public:
  explicit ReduceScatter(ExchangeContext context)
      : NeedsAll(std::move(context)),
        plan_(PlanUnits(*context_.arena, 1, context_.spec.bucket_bytes)),
        stride_(1 + static_cast<uint64_t>(std::max(1, context_.arena->state_count()))),
        ready_(plan_.units.size()) {}

  absl::Status Build() {
    std::vector<AverageLane> lanes;
    for (const ExchangeUnit& unit : plan_.units) {
      lanes.push_back({CollectiveOp::kReduceScatter, unit.count});
    }
    // Weights in fewer bits would swallow the small updates of each step.
    for (const ExchangeUnit& unit : plan_.units) {
      lanes.push_back({CollectiveOp::kAllGather, unit.count, /*exact=*/true});
    }
    const size_t buffers = context_.arena->buffers().size();
    if (buffers > 0) lanes.push_back({CollectiveOp::kAllReduce, buffers, /*exact=*/true});
    GG_ASSIGN_OR_RETURN(averager_, Averager::Create(context_, lanes));
    return absl::OkStatus();
  }

  absl::string_view name() const override { return "reduce-scatter"; }

  absl::Status BeginStep(uint64_t step) override {
    GG_RETURN_IF_ERROR(NeedsAll::BeginStep(step));
    ready_.assign(ready_.size(), 0);
    return Progress();
  }

  absl::Status BlockNeeded(BlockIndex block) override {
    GG_RETURN_IF_ERROR(Close(plan_.unit_of_block[block]));
    return Progress();
  }

  absl::Status GradientReady(BlockIndex block) override {
    const int unit = plan_.unit_of_block[block];
    if (++ready_[unit] == plan_.units[unit].blocks) {
      const ConstFlat gradients = Part(context_.arena->gradients(), unit);
      GG_RETURN_IF_ERROR(averager_->Start(unit, stride_ * step_, {&gradients, 1}, stats_));
      open_step_ = step_;
      if (unit == units() - 1) to_gather_ = unit;
    }
    return Progress();
  }

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    steps_done_ = step + 1;
    GG_RETURN_IF_ERROR(Progress());
    context_.group->Expire(Channel::kCollective, stride_ * step * kCollectivesPerStep);
    return std::exchange(stats_, ExchangeStats());
  }

  absl::StatusOr<ExchangeStats> Settle() override {
    GG_RETURN_IF_ERROR(average_.aborted());
    for (int unit = units() - 1; unit >= 0; --unit) GG_RETURN_IF_ERROR(Close(unit));
    return NeedsAll::Settle();
  }

  // The weights are equal everywhere; each strip of the state lies with its owner, and the
  // buffers belong to the replicas.
  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    if (whole_after_ == steps_done_) return 0;
    const absl::Status gathered = GatherTheRest(deadline);
    if (!gathered.ok()) return Annotate(gathered, "gathering the strips of the optimizer's state");
    whole_after_ = steps_done_;
    return 0;
  }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};

  int units() const { return static_cast<int>(plan_.units.size()); }
  int gather_lane(int unit) const { return units() + unit; }
  Flat Part(Flat arena, int unit) const {
    return arena.subspan(plan_.units[unit].offset, plan_.units[unit].count);
  }

  // The part `range` of what the lane brings.
  absl::StatusOr<Flat> Receive(int lane, Range range, absl::Time deadline, ExchangeStats& stats) {
    const absl::StatusOr<Flat> result = averager_->Await(lane, deadline, stats);
    if (!result.ok()) {
      return Annotate(result.status(), absl::StrCat("reduce-scatter of step ", open_step_));
    }
    const Flat part = result->subspan(range.begin, range.size());
    if (!AllFinite(part)) {
      return absl::DataLossError(absl::StrCat("reduce-scatter of step ", open_step_,
                                              ": what the workers computed is not finite, because "
                                              "the part of at least one of them is not"));
    }
    return part;
  }

  // Begins the all-gathers that can begin without waiting.
  absl::Status Progress() {
    while (to_gather_ >= 0 && averager_->finished(to_gather_)) GG_RETURN_IF_ERROR(Gather());
    return absl::OkStatus();
  }

  // Updates our strip of the next unit whose weights are to be gathered, and begins to gather them.
  absl::Status Gather() {
    const int unit = to_gather_--;
    const Range own = averager_->OwnStrip(unit);
    GG_ASSIGN_OR_RETURN(const Flat mean, Receive(unit, own, Deadline(), stats_));
    const size_t offset = plan_.units[unit].offset + own.begin;
    GG_RETURN_IF_ERROR(context_.device->Copy(
        *context_.stream, mean, context_.arena->gradients().subspan(offset, own.size())));
    GG_RETURN_IF_ERROR(context_.update_range(offset, own.size(), open_step_));
    const ConstFlat weights = Part(context_.arena->weights(), unit);
    return averager_->Start(gather_lane(unit), stride_ * open_step_, {&weights, 1}, stats_);
  }

  // Waits for the unit's new weights.
  absl::Status Close(int unit) {
    while (to_gather_ >= unit) GG_RETURN_IF_ERROR(Gather());
    if (!averager_->busy(gather_lane(unit))) return absl::OkStatus();
    return Store(gather_lane(unit), Part(context_.arena->weights(), unit), Deadline(), stats_);
  }

  absl::Status Store(int lane, Flat into, absl::Time deadline, ExchangeStats& stats) {
    GG_ASSIGN_OR_RETURN(const Flat whole, Receive(lane, {0, into.size()}, deadline, stats));
    const absl::Time start = context_.clock->Now();
    GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, whole, into));
    GG_RETURN_IF_ERROR(context_.stream->Synchronize());
    stats.mixed += context_.clock->Now() - start;
    return absl::OkStatus();
  }

  absl::Status GatherTheRest(absl::Time deadline) {
    ParamArena& arena = *context_.arena;
    uint64_t number = stride_ * (steps_done_ - 1) + 1;
    if (!arena.buffers().empty()) {
      GG_RETURN_IF_ERROR(RunAll({{2 * units(), arena.buffers()}}, number, deadline));
    }
    for (int i = 0; i < arena.state_count(); ++i, ++number) {
      std::vector<std::pair<int, Flat>> lanes;
      for (int unit = 0; unit < units(); ++unit) {
        lanes.emplace_back(gather_lane(unit), Part(arena.state(i), unit));
      }
      GG_RETURN_IF_ERROR(RunAll(lanes, number, deadline));
    }
    return absl::OkStatus();
  }

  absl::Status RunAll(const std::vector<std::pair<int, Flat>>& lanes, uint64_t number,
                      absl::Time deadline) {
    ExchangeStats not_of_a_step;
    for (const auto& [lane, values] : lanes) {
      const ConstFlat part = values;
      GG_RETURN_IF_ERROR(averager_->Start(lane, number, {&part, 1}, not_of_a_step));
    }
    for (const auto& [lane, values] : lanes) {
      GG_RETURN_IF_ERROR(Store(lane, values, deadline, not_of_a_step));
    }
    return absl::OkStatus();
  }

  const UnitPlan plan_;
  const uint64_t stride_;          // numbers of collectives per step
  std::vector<int> ready_;         // gradients of each unit that are there
  int to_gather_ = -1;             // the unit whose all-gather begins next; -1: all have begun
  uint64_t open_step_ = 0;         // of the collectives under way
  uint64_t whole_after_ = kNever;  // steps after which the state was gathered
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeReduceScatter(ExchangeContext context) {
  auto strategy = std::make_unique<ReduceScatter>(std::move(context));
  GG_RETURN_IF_ERROR(strategy->Build());
  return strategy;
}

}  // namespace gg
