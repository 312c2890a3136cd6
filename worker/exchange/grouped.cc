// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/grouped.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/rng.h"
#include "core/schedule/grouping.h"
#include "core/schedule/hierarchical.h"
#include "core/status.h"
#include "worker/exchange/averager.h"
#include "worker/exchange/partner_watch.h"
#include "worker/exchange/replica_average.h"
#include "worker/exchange/units.h"
#include "worker/transport/sub_group.h"

namespace gg {
namespace {

// Collectives of all workers, of the group, and of the inner method.
constexpr uint64_t kLanes = 3;

// What travels behind the first unit's gradient: for every member a place that only it fills, so that
// the sum is what all of them say. Numbers of so few bits survive being divided and multiplied.
constexpr uint64_t kNewsRange = 1 << 20;

// Differs for replicas that differ, but for one pair in kNewsRange when cut to it.
uint64_t HashOf(const std::vector<ConstFlat>& parts) {
  // Independent sums, so that they are computed side by side.
  constexpr size_t kSums = 16;
  uint32_t sums[kSums] = {};
  for (const ConstFlat part : parts) {
    size_t i = 0;
    for (; i + kSums <= part.size(); i += kSums) {
      for (size_t j = 0; j < kSums; ++j) {
        sums[j] = sums[j] * 0x01000193u + std::bit_cast<uint32_t>(part[i + j]);
      }
    }
    for (; i < part.size(); ++i) sums[0] = sums[0] * 0x01000193u + std::bit_cast<uint32_t>(part[i]);
  }
  return StableHash(absl::string_view(reinterpret_cast<const char*>(sums), sizeof(sums)));
}

// What the averages need of a context, among other workers.
ExchangeContext Among(const ExchangeContext& context, PeerGroup& group) {
  ExchangeContext among;
  among.spec = context.spec;
  among.seed = context.seed;
  among.device = context.device;
  among.stream = context.stream;
  among.arena = context.arena;
  among.group = &group;
  among.size = group.view().size();
  among.rank = group.self();
  among.clock = context.clock;
  among.metrics = context.metrics;
  among.steps_per_epoch = context.steps_per_epoch;
  among.transport = context.transport;
  among.weight = context.weight;
  return among;
}

class Grouped final : public ExchangeStrategy {
 public:
  // Sub-groups of all, of the own group, and of the workers with the same place.
  struct Circles {
    std::shared_ptr<SubGroup> all, group, between;
  };

  Grouped(ExchangeContext context, Circles circles)
      : circles_(std::move(circles)),
        all_(Among(context, *circles_.all)),
        group_(Among(context, *circles_.group)),
        plan_(PlanUnits(*context.arena, 1, context.spec.bucket_bytes)),
        ready_(plan_.units.size()),
        watch_(all_),
        average_(all_),
        heal_(group_) {
    all_.on_incident = [this](const PartnerIncident& incident) { Tell(incident); };
    update_ = std::move(context.update);
    on_incident_ = std::move(context.on_incident);
  }

  absl::Status Build(const MakeInner& make_inner) {
    std::vector<AverageLane> lanes;
    // Links inside a group are fast, and the news would not survive an encoding.
    for (const ExchangeUnit& unit : plan_.units) {
      lanes.push_back({.floats = unit.count, .exact = true});
    }
    lanes.front().floats += news_floats();
    GG_ASSIGN_OR_RETURN(averager_, Averager::Create(group_, lanes));
    GG_ASSIGN_OR_RETURN(news_, group_.device->Allocate(news_floats() * sizeof(float)));
    ExchangeContext inner = Among(all_, *circles_.between);
    inner.spec.schedule = std::string(Hierarchical::kBetweenGroups);
    inner.spec.average_every = 0;
    inner.update = [this](BlockIndex block, uint64_t step) { return update_(block, step); };
    inner.on_incident = [this](PartnerIncident incident) {
      incident.partner = RankOf(circles_.between->view().members[incident.partner].worker_id);
      Tell(incident);
    };
    if (inner.size == 1) inner.group = nullptr;
    GG_ASSIGN_OR_RETURN(
        std::unique_ptr<PartnerSchedule> schedule,
        MakeSchedule(inner.spec.schedule,
                     {.size = inner.size, .seed = inner.seed, .rotate = inner.spec.rotate}));
    GG_ASSIGN_OR_RETURN(inner_, make_inner(std::move(inner), std::move(schedule)));
    return absl::OkStatus();
  }

  absl::string_view name() const override { return inner_->name(); }

  absl::Status BeginStep(uint64_t step) override {
    GG_RETURN_IF_ERROR(average_.aborted());
    step_ = step;
    ready_.assign(ready_.size(), 0);
    next_ = 0;
    return inner_->BeginStep(step);
  }

  absl::Status BlockNeeded(BlockIndex block) override { return inner_->BlockNeeded(block); }

  absl::Status GradientReady(BlockIndex block) override {
    const int unit = plan_.unit_of_block[block];
    if (++ready_[unit] < plan_.units[unit].blocks) return absl::OkStatus();
    std::vector<ConstFlat> parts = {Gradients(unit)};
    if (unit == 0) parts.push_back(News());
    GG_RETURN_IF_ERROR(averager_->Start(unit, step_, parts, stats_));
    while (next_ <= unit && averager_->finished(next_)) GG_RETURN_IF_ERROR(Deliver());
    return absl::OkStatus();
  }

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    while (next_ < unit_count()) GG_RETURN_IF_ERROR(Deliver());
    steps_done_ = step + 1;
    GG_ASSIGN_OR_RETURN(const ExchangeStats exchanged, inner_->EndStep(step));
    stats_ += exchanged;
    if (average_.Due(steps_done_)) {
      GG_RETURN_IF_ERROR(SettleInner());
      watch_.ResetBudget();
      GG_RETURN_IF_ERROR(average_.RunPeriodic(steps_done_, watch_, stats_));
    }
    circles_.group->Expire(Channel::kCollective, step * kCollectivesPerStep);
    return std::exchange(stats_, ExchangeStats());
  }

  absl::StatusOr<ExchangeStats> Settle() override {
    GG_RETURN_IF_ERROR(average_.aborted());
    GG_RETURN_IF_ERROR(SettleInner());
    return std::exchange(stats_, ExchangeStats());
  }

  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    return average_.Run(steps_done_, deadline);
  }

  void Abort(absl::Status why) override {
    average_.Abort(why);
    heal_.Abort(why);
    averager_->Abort(why);
    inner_->Abort(std::move(why));
  }

 private:
  int unit_count() const { return static_cast<int>(plan_.units.size()); }
  Flat Gradients(int unit) const {
    const ExchangeUnit& u = plan_.units[unit];
    return group_.arena->gradients().subspan(u.offset, u.count);
  }
  absl::Time Deadline() const {
    return group_.clock->Now() + absl::Seconds(group_.spec.collective_seconds);
  }

  // First the hashes of all members, then the rounds that they have left out.
  size_t news_floats() const { return 2 * static_cast<size_t>(group_.size); }
  Flat News() {
    const Flat news = news_->floats().subspan(0, news_floats());
    std::fill(news.begin(), news.end(), 0.0f);
    std::vector<ConstFlat> parts = {group_.arena->weights()};
    for (int i = 0; i < group_.arena->state_count(); ++i) parts.push_back(group_.arena->state(i));
    const uint64_t hash = HashOf(parts);
    news[group_.rank] = static_cast<float>(hash % kNewsRange);
    news[group_.size + group_.rank] = static_cast<float>(inner_->rounds_left_out() % kNewsRange);
    return news;
  }

  // The same on all members: they have the same bits.
  absl::Status Read(ConstFlat mean) {
    const auto said = [&](int place) { return std::lround(double{mean[place]} * group_.size); };
    bool equal = true;
    int64_t left_out = 0;
    for (int member = 0; member < group_.size; ++member) {
      equal = equal && said(member) == said(0);
      left_out = std::max<int64_t>(left_out, said(group_.size + member));
    }
    inner_->LeaveOutRounds(static_cast<uint64_t>(left_out));
    return equal ? absl::OkStatus() : Heal();
  }

  // The mean that the next unit waits for goes to the inner method.
  absl::Status Deliver() {
    const absl::StatusOr<Flat> mean = averager_->Await(next_, Deadline(), stats_);
    if (!mean.ok()) return Annotate(mean.status(), Where());
    const int unit = next_++;
    const ExchangeUnit& u = plan_.units[unit];
    GG_RETURN_IF_ERROR(
        group_.device->Copy(*group_.stream, mean->subspan(0, u.count), Gradients(unit)));
    GG_RETURN_IF_ERROR(group_.stream->Synchronize());
    if (unit == 0) GG_RETURN_IF_ERROR(Read(mean->subspan(u.count, news_floats())));
    for (BlockIndex b = u.first; b < u.first + u.blocks; ++b) {
      GG_RETURN_IF_ERROR(inner_->GradientReady(b));
    }
    return absl::OkStatus();
  }

  absl::Status Heal() {
    // What is open still carries the difference.
    GG_RETURN_IF_ERROR(SettleInner());
    const absl::Time start = group_.clock->Now();
    const absl::StatusOr<double> distance = heal_.Run(step_, Deadline());
    stats_.waited += group_.clock->Now() - start;
    return distance.ok() ? absl::OkStatus() : Annotate(distance.status(), Where());
  }

  absl::Status SettleInner() {
    GG_ASSIGN_OR_RETURN(const ExchangeStats settled, inner_->Settle());
    stats_ += settled;
    return absl::OkStatus();
  }

  std::string Where() const {
    return absl::StrCat(name(), " of step ", step_, ", average inside the group of ",
                        absl::StrJoin(group_.group->view().members, ", ",
                                      [](std::string* out, const Member& member) {
                                        absl::StrAppend(out, member.worker_id);
                                      }));
  }

  Rank RankOf(const std::string& worker_id) const {
    const std::vector<Member>& members = circles_.all->view().members;
    const auto it = std::find_if(members.begin(), members.end(), [&](const Member& member) {
      return member.worker_id == worker_id;
    });
    return static_cast<Rank>(it - members.begin());
  }

  void Tell(const PartnerIncident& incident) {
    if (on_incident_) on_incident_(incident);
  }

  const Circles circles_;
  ExchangeContext all_, group_;
  absl::AnyInvocable<absl::Status(BlockIndex, uint64_t step)> update_;
  absl::AnyInvocable<void(const PartnerIncident&)> on_incident_;
  const UnitPlan plan_;
  std::vector<int> ready_;  // gradients of each unit that are there
  int next_ = 0;            // the first unit whose mean has not gone to the inner method
  std::unique_ptr<Buffer> news_;
  std::unique_ptr<Averager> averager_;
  PartnerWatch watch_;
  ReplicaAverage average_, heal_;
  std::unique_ptr<ExchangeStrategy> inner_;
  uint64_t step_ = 0;
  uint64_t steps_done_ = 0;
  ExchangeStats stats_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeGrouped(ExchangeContext context,
                                                              const MakeInner& make_inner) {
  GG_ASSIGN_OR_RETURN(const std::vector<std::string> places,
                      PlacesOf(context.group->view(), context.spec.topology));
  GG_ASSIGN_OR_RETURN(const Grouping grouping, GroupByPlace(places));
  const std::vector<Rank>& group = grouping.groups[grouping.group_of[context.rank]];
  // Groups of one are numbered as their members are.
  if (group.size() == 1) {
    context.spec.schedule = std::string(Hierarchical::kBetweenGroups);
    GG_ASSIGN_OR_RETURN(
        std::unique_ptr<PartnerSchedule> schedule,
        MakeSchedule(context.spec.schedule,
                     {.size = context.size, .seed = context.seed, .rotate = context.spec.rotate}));
    return make_inner(std::move(context), std::move(schedule));
  }
  std::vector<Rank> all, between;
  for (Rank rank = 0; rank < context.size; ++rank) all.push_back(rank);
  for (const std::vector<Rank>& other : grouping.groups) {
    between.push_back(other[grouping.place_of[context.rank]]);
  }
  Grouped::Circles circles;
  PeerGroup& whole = *context.group;
  GG_ASSIGN_OR_RETURN(circles.all, SubGroup::Create(whole, all, {0, kLanes}));
  GG_ASSIGN_OR_RETURN(circles.group, SubGroup::Create(whole, group, {1, kLanes}));
  GG_ASSIGN_OR_RETURN(circles.between, SubGroup::Create(whole, between, {2, kLanes}));
  auto grouped = std::make_unique<Grouped>(std::move(context), std::move(circles));
  GG_RETURN_IF_ERROR(grouped->Build(make_inner));
  return grouped;
}

}  // namespace gg
