// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/gossip_grad.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/finite.h"

namespace gg {
namespace {

// The distance costs one more pass over the message.
constexpr uint64_t kDistanceEvery = 10;

}  // namespace

GossipGrad::GossipGrad(ExchangeContext context, ExchangeRule rule,
                       std::unique_ptr<PartnerSchedule> schedule)
    : context_(std::move(context)),
      rule_(rule),
      schedule_(std::move(schedule)),
      plan_(PlanUnits(*context_.arena, rule.payload->parts.size(), context_.spec.bucket_bytes)),
      watch_(context_),
      average_(context_),
      ready_(plan_.units.size()),
      exchanges_(plan_.units.size()) {}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> GossipGrad::Create(
    ExchangeContext context, ExchangeRule rule, std::unique_ptr<PartnerSchedule> schedule) {
  std::unique_ptr<GossipGrad> gossip(new GossipGrad(std::move(context), rule, std::move(schedule)));
  std::vector<size_t> floats;
  for (const ExchangeUnit& unit : gossip->plan_.units) {
    floats.push_back(unit.count * rule.payload->parts.size());
  }
  ExchangeContext& c = gossip->context_;
  GG_ASSIGN_OR_RETURN(gossip->inflight_, Inflight::Create(*c.device, *c.group, *c.clock, floats));
  gossip->notes_ = RoundNotes::Create(*c.group, c.size);
  return gossip;
}

Flat GossipGrad::Live(int unit, size_t part) const {
  const ExchangeUnit& u = plan_.units[unit];
  return rule_.payload->parts[part](*context_.arena).subspan(u.offset, u.count);
}

Flat GossipGrad::Slice(Flat message, int unit, size_t part) const {
  const size_t count = plan_.units[unit].count;
  return message.subspan(part * count, count);
}

absl::Status GossipGrad::BeginStep(uint64_t step) {
  GG_RETURN_IF_ERROR(inflight_->aborted());
  step_ = step;
  FindRound(step);
  partners_ = schedule_->At(context_.rank, round_);
  const uint64_t rotation = round_ / schedule_->round_length();
  context_.metrics->Set(GaugeId::kGossipRound, static_cast<double>(rotation + 1));
  context_.metrics->Set(GaugeId::kGossipRotation,
                        context_.spec.rotate ? static_cast<double>(rotation) : 0);
  watch_.ResetBudget();
  ready_.assign(ready_.size(), 0);
  const bool share_now = is(Overlap::kStep) && !gradients();
  for (int u = 0; u < unit_count(); ++u) {
    if (share_now) GG_RETURN_IF_ERROR(Close(u));
    Expect(u);
    if (share_now) GG_RETURN_IF_ERROR(Share(u));
  }
  return absl::OkStatus();
}

void GossipGrad::FindRound(uint64_t step) {
  uint64_t round = step + left_out_;
  const std::vector<RoundNote> notes = notes_->Take();
  // Who missed us in a round is in the next one by now. One round is no more than the waiting of
  // the others makes good.
  for (const RoundNote& note : notes) {
    if (note.round > round) round = note.round + 1;
  }
  left_out_ = round - step;
  round_ = round;
  for (const RoundNote& note : notes) {
    watch_.Alive(note.from);
    // Those who read it begin the round that we are in.
    if (note.question && round > 0) notes_->Tell(note.from, round - 1, /*question=*/false);
  }
}

absl::Status GossipGrad::BlockNeeded(BlockIndex block) {
  if (!is(Overlap::kLayerwise)) return absl::OkStatus();
  const int unit = plan_.unit_of_block[block];
  GG_RETURN_IF_ERROR(Close(unit));
  Expect(unit);
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
  const Exchange yesterday = exchanges_[unit];
  GG_RETURN_IF_ERROR(Share(unit));
  if (yesterday.open) GG_RETURN_IF_ERROR(Collect(unit, yesterday));
  Expect(unit);
  return UpdateBlocks(unit, step_);
}

absl::StatusOr<ExchangeStats> GossipGrad::EndStep(uint64_t step) {
  if (is(Overlap::kNone)) {
    for (int u = 0; u < unit_count(); ++u) GG_RETURN_IF_ERROR(Share(u));
    GG_RETURN_IF_ERROR(CloseModel());
  }
  steps_done_ = step + 1;
  if (average_.Due(steps_done_)) {
    watch_.ResetBudget();
    GG_RETURN_IF_ERROR(CloseModel());
    GG_RETURN_IF_ERROR(average_.RunPeriodic(steps_done_, watch_, stats_));
  }
  context_.group->Expire(Channel::kExchange, round_);
  NoteFailedSends();
  return TakeStats();
}

absl::StatusOr<ExchangeStats> GossipGrad::Settle() {
  GG_RETURN_IF_ERROR(inflight_->aborted());
  watch_.ResetBudget();
  GG_RETURN_IF_ERROR(CloseModel());
  return TakeStats();
}

absl::StatusOr<double> GossipGrad::AverageReplicas(absl::Time deadline) {
  return average_.Run(steps_done_, deadline);
}

void GossipGrad::Abort(absl::Status why) {
  average_.Abort(why);
  inflight_->Abort(std::move(why));
}

void GossipGrad::Expect(int unit) {
  if (partners_.recv_from < 0) return;
  const bool last_one_to_come = exchanges_[unit].open && exchanges_[unit].round != round_;
  if (last_one_to_come) return;
  inflight_->PostRecv(unit, round_, partners_.recv_from);
}

absl::Status GossipGrad::Share(int unit) {
  const absl::Time start = context_.clock->Now();
  exchanges_[unit] = {.open = true,
                      .snapshot = false,
                      .step = step_,
                      .round = round_,
                      .partners = partners_,
                      .begun = start};
  const Rank to = partners_.send_to;
  // What was sent is needed where a difference to it is mixed, sent or not.
  const bool resting = partners_.recv_from < 0;
  if (to < 0 && (resting || !is(Overlap::kStep))) return absl::OkStatus();
  // Where the transport is only a little behind, a wait here saves the partner a whole deadline;
  // almost always there is none.
  const bool full = to >= 0 && inflight_->HeldBy(to, unit) >= Inflight::kHeldPerPeer;
  GG_ASSIGN_OR_RETURN(const Flat message,
                      inflight_->Outgoing(unit, round_, to, full ? watch_.WaitUntil(to) : start));
  watch_.Waited(start, stats_);
  GG_RETURN_IF_ERROR(inflight_->aborted());
  if (message.empty()) {
    watch_.SendHeldBack(to, step_, unit);
    return absl::OkStatus();
  }
  const absl::Time copying = context_.clock->Now();
  for (size_t part = 0; part < rule_.payload->parts.size(); ++part) {
    GG_RETURN_IF_ERROR(
        context_.device->Copy(*context_.stream, Live(unit, part), Slice(message, unit, part)));
  }
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  exchanges_[unit].snapshot = true;
  stats_.mixed += context_.clock->Now() - copying;
  if (to < 0) return absl::OkStatus();
  inflight_->Send(unit, round_, to);
  const size_t bytes = message.size() * sizeof(float);
  ++stats_.messages_sent;
  stats_.bytes_sent += bytes;
  context_.metrics->Add(CounterId::kGossipMessages, 1, {"sent", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes, static_cast<double>(bytes),
                        {"sent", context_.transport});
  return absl::OkStatus();
}

absl::Status GossipGrad::Collect(int unit, const Exchange& exchange) {
  const Rank partner = exchange.partners.recv_from;
  if (partner < 0) return absl::OkStatus();
  const absl::Time start = context_.clock->Now();
  // Once more, in case that the buffer was not free when the step began.
  inflight_->PostRecv(unit, exchange.round, partner);
  // After a jump nobody is in that round any more.
  const bool passed = exchange.round + 1 < round_;
  const absl::Status arrived =
      inflight_->Await(unit, exchange.round, passed ? start : watch_.WaitUntil(partner));
  watch_.Waited(start, stats_);
  GG_RETURN_IF_ERROR(inflight_->aborted());
  if (!arrived.ok() && passed) {
    watch_.WeWereLate(stats_);
    return absl::OkStatus();
  }
  if (!arrived.ok()) {
    if (watch_.WorthWaiting(partner)) notes_->Tell(partner, exchange.round, /*question=*/true);
    watch_.Missed(partner, exchange.step, unit, arrived, stats_);
    return absl::OkStatus();
  }
  notes_->Reopen(partner);
  const Flat received = inflight_->Received(unit);
  context_.metrics->Add(CounterId::kGossipMessages, 1, {"received", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes,
                        static_cast<double>(received.size() * sizeof(float)),
                        {"received", context_.transport});
  if (!AllFinite(received)) {
    watch_.NonFinite(partner, exchange.step, unit, stats_);
    return absl::OkStatus();
  }
  if (is(Overlap::kStep) && !exchange.snapshot) {
    // Nothing of ours to take the difference to; the reason was counted when it was held back.
    ++stats_.exchanges_skipped;
    return absl::OkStatus();
  }
  const absl::Time mixing = context_.clock->Now();
  GG_RETURN_IF_ERROR(Mix(unit, exchange));
  stats_.mixed += context_.clock->Now() - mixing;
  watch_.Done(partner, exchange.begun, stats_);
  // By the form of the mix: the difference to a snapshot carries what happened since, which is this
  // step's own update at least.
  const uint64_t staleness = is(Overlap::kStep) ? std::max<uint64_t>(1, step_ - exchange.step) : 0;
  context_.metrics->Set(GaugeId::kGossipStaleness, static_cast<double>(staleness));
  return absl::OkStatus();
}

absl::Status GossipGrad::Mix(int unit, const Exchange& exchange) {
  const Flat received = inflight_->Received(unit);
  const bool delta = is(Overlap::kStep);
  for (size_t part = 0; part < rule_.payload->parts.size(); ++part) {
    const Flat live = Live(unit, part);
    const Flat theirs = Slice(received, unit, part);
    const Flat ours = delta ? Slice(inflight_->Sent(unit, exchange.round), unit, part) : live;
    if (part == 0 && exchange.round % kDistanceEvery == 0) {
      GG_ASSIGN_OR_RETURN(const double squared,
                          context_.device->SquaredDistance(*context_.stream, ours, theirs));
      squared_distance_ += squared;
      ++distances_;
    }
    GG_RETURN_IF_ERROR(
        delta ? context_.device->AddDifference(*context_.stream, 0.5f, theirs, ours, live)
              : context_.device->Axpby(*context_.stream, 0.5f, theirs, 0.5f, live));
  }
  return absl::OkStatus();
}

absl::Status GossipGrad::Close(int unit) {
  Exchange& exchange = exchanges_[unit];
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

void GossipGrad::NoteFailedSends() {
  for (const Inflight::SendFailure& failure : inflight_->TakeSendFailures()) {
    watch_.SendFailed(failure.to, failure.step, failure.status);
  }
}

ExchangeStats GossipGrad::TakeStats() {
  if (distances_ == unit_count()) {
    stats_.partner_distance = std::sqrt(squared_distance_);
    context_.metrics->Set(GaugeId::kGossipPartnerDistance, stats_.partner_distance);
  }
  squared_distance_ = 0;
  distances_ = 0;
  return std::exchange(stats_, ExchangeStats());
}

}  // namespace gg
