// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/gossip_grad.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/status.h"

namespace gg {

GossipGrad::GossipGrad(ExchangeContext context, ExchangeRule rule, bool by_difference,
                       std::unique_ptr<PartnerSchedule> schedule)
    : context_(std::move(context)),
      rule_(rule),
      by_difference_(by_difference),
      schedule_(std::move(schedule)),
      parts_(rule.payload->PartsOf(*context_.arena)),
      plan_(PlanUnits(*context_.arena, parts_.size(), context_.spec.bucket_bytes)),
      average_(context_),
      ready_(plan_.units.size()) {}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> GossipGrad::Create(
    ExchangeContext context, ExchangeRule rule, std::unique_ptr<PartnerSchedule> schedule) {
  PartnerMessages messages;
  GG_ASSIGN_OR_RETURN(messages.format, ParseEncoding(context.spec, context.seed));
  messages.gradients = rule.payload->before_update;
  const bool by_difference =
      rule.overlap == Overlap::kStep || messages.format.encoding != Encoding::kFp32;
  std::unique_ptr<GossipGrad> gossip(
      new GossipGrad(std::move(context), rule, by_difference, std::move(schedule)));
  for (const ExchangeUnit& unit : gossip->plan_.units) {
    messages.floats.push_back(unit.count * gossip->parts_.size());
  }
  messages.distance_units = gossip->unit_count();
  GG_ASSIGN_OR_RETURN(gossip->link_,
                      PartnerExchange::Create(gossip->context_, std::move(messages)));
  return gossip;
}

Flat GossipGrad::Live(int unit, size_t part) const {
  const ExchangeUnit& u = plan_.units[unit];
  return parts_[part].subspan(u.offset, u.count);
}

Flat GossipGrad::Slice(Flat message, int unit, size_t part) const {
  const size_t count = plan_.units[unit].count;
  return message.subspan(part * count, count);
}

absl::Status GossipGrad::BeginStep(uint64_t step) {
  GG_RETURN_IF_ERROR(link_->BeginStep(step));
  step_ = step;
  const uint64_t round = link_->round();
  partners_ = schedule_->At(context_.rank, round);
  ShowRound(*context_.metrics, *schedule_, context_.spec.rotate, round);
  link_->Meet(partners_);
  ready_.assign(ready_.size(), 0);
  const bool share_now = is(Overlap::kStep) && !gradients();
  for (int u = 0; u < unit_count(); ++u) {
    if (share_now) GG_RETURN_IF_ERROR(Close(u));
    link_->Expect(u, partners_);
    if (share_now) GG_RETURN_IF_ERROR(Share(u));
  }
  return absl::OkStatus();
}

absl::Status GossipGrad::BlockNeeded(BlockIndex block) {
  if (!is(Overlap::kLayerwise)) return absl::OkStatus();
  const int unit = plan_.unit_of_block[block];
  GG_RETURN_IF_ERROR(Close(unit));
  link_->Expect(unit, partners_);
  return absl::OkStatus();
}

absl::Status GossipGrad::GradientReady(BlockIndex block) {
  const int unit = plan_.unit_of_block[block];
  if (!gradients()) GG_RETURN_IF_ERROR(context_.update(block, step_));
  const bool complete = ++ready_[unit] == plan_.units[unit].blocks;
  if (!complete) return absl::OkStatus();
  if (is(Overlap::kLayerwise)) return Share(unit);
  if (is(Overlap::kStep) && gradients()) return ShareDelayedGradient(unit);
  return absl::OkStatus();
}

absl::Status GossipGrad::ShareDelayedGradient(int unit) {
  // The partner gets today's gradient as it is; ours is then corrected by what was learnt of
  // yesterday's.
  const UnitExchange yesterday = link_->latest(unit);
  GG_RETURN_IF_ERROR(Share(unit));
  if (yesterday.open) GG_RETURN_IF_ERROR(Collect(unit, yesterday));
  link_->Expect(unit, partners_);
  return UpdateBlocks(unit, step_);
}

absl::StatusOr<ExchangeStats> GossipGrad::EndStep(uint64_t step) {
  if (is(Overlap::kNone)) {
    for (int u = 0; u < unit_count(); ++u) GG_RETURN_IF_ERROR(Share(u));
    GG_RETURN_IF_ERROR(CloseModel());
  }
  steps_done_ = step + 1;
  // By rounds, so that who was away once meets the others at later averages again.
  const uint64_t rounds_done = link_->round() + 1;
  if (average_.Due(rounds_done)) {
    link_->watch().ResetBudget();
    GG_RETURN_IF_ERROR(CloseModel());
    GG_RETURN_IF_ERROR(average_.RunPeriodic(rounds_done, link_->watch(), link_->stats()));
  }
  link_->EndStep();
  return link_->TakeStats();
}

absl::StatusOr<ExchangeStats> GossipGrad::Settle() {
  GG_RETURN_IF_ERROR(link_->aborted());
  link_->watch().ResetBudget();
  GG_RETURN_IF_ERROR(CloseModel());
  link_->Settle();
  return link_->TakeStats();
}

absl::StatusOr<double> GossipGrad::AverageReplicas(absl::Time deadline) {
  return average_.Run(steps_done_, deadline, std::nullopt, ReplicaAverage::When::kClosing);
}

void GossipGrad::Abort(absl::Status why) {
  average_.Abort(why);
  link_->Abort(std::move(why));
}

absl::Status GossipGrad::Share(int unit) {
  std::vector<ConstFlat> parts;
  for (size_t part = 0; part < parts_.size(); ++part) {
    parts.push_back(Live(unit, part));
  }
  return link_->Share(unit, partners_, parts, by_difference_);
}

absl::Status GossipGrad::Collect(int unit, const UnitExchange& exchange) {
  // The difference to a snapshot of a step before carries what happened since, which is this step's
  // own update at least.
  const uint64_t age = is(Overlap::kStep) ? std::max<uint64_t>(1, step_ - exchange.step) : 0;
  GG_ASSIGN_OR_RETURN(const Flat received, link_->Collect(unit, exchange, by_difference_, age));
  if (received.empty()) return absl::OkStatus();
  const absl::Time mixing = context_.clock->Now();
  GG_RETURN_IF_ERROR(Mix(unit, exchange, received));
  link_->Mixed(exchange, mixing, age);
  return absl::OkStatus();
}

absl::Status GossipGrad::Mix(int unit, const UnitExchange& exchange, Flat received) {
  const bool delta = by_difference_;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const Flat live = Live(unit, part);
    const Flat theirs = Slice(received, unit, part);
    const Flat ours = delta ? Slice(link_->Sent(unit, exchange), unit, part) : live;
    if (part == 0) GG_RETURN_IF_ERROR(link_->Measure(exchange, ours, theirs));
    GG_RETURN_IF_ERROR(
        delta ? context_.device->AddDifference(*context_.stream, 0.5f, theirs, ours, live)
              : context_.device->Axpby(*context_.stream, 0.5f, theirs, 0.5f, live));
  }
  return absl::OkStatus();
}

absl::Status GossipGrad::Close(int unit) {
  UnitExchange& exchange = link_->latest(unit);
  if (!exchange.open) return absl::OkStatus();
  exchange.open = false;
  GG_RETURN_IF_ERROR(Collect(unit, exchange));
  return gradients() ? UpdateBlocks(unit, exchange.step) : absl::OkStatus();
}

absl::Status GossipGrad::CloseModel() {
  // A delayed gradient changes no weight before the next one is there: nothing is open in the
  // model.
  if (is(Overlap::kStep) && gradients()) return absl::OkStatus();
  for (int u = 0; u < unit_count(); ++u) GG_RETURN_IF_ERROR(Close(u));
  return absl::OkStatus();
}

absl::Status GossipGrad::UpdateBlocks(int unit, uint64_t step) {
  const ExchangeUnit& u = plan_.units[unit];
  for (BlockIndex b = u.first; b < u.first + u.blocks; ++b) {
    GG_RETURN_IF_ERROR(context_.update(b, step));
  }
  return absl::OkStatus();
}

}  // namespace gg
