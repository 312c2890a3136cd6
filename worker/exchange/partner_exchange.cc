// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/partner_exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/status.h"

namespace gg {
namespace {

// The distance costs one more pass over the message.
constexpr uint64_t kDistanceEvery = 10;
constexpr uint64_t kNormEvery = 10;

}  // namespace

PartnerExchange::PartnerExchange(ExchangeContext& context, PartnerMessages messages)
    : context_(context),
      messages_(std::move(messages)),
      watch_(context),
      guard_(context),
      rounds_(*context.group, context.size, watch_),
      exchanges_(messages_.floats.size()),
      own_norms_(messages_.floats.size()) {}

absl::StatusOr<std::unique_ptr<PartnerExchange>> PartnerExchange::Create(ExchangeContext& context,
                                                                         PartnerMessages messages) {
  std::unique_ptr<PartnerExchange> exchange(new PartnerExchange(context, std::move(messages)));
  const PartnerMessages& m = exchange->messages_;
  Device& device = *context.device;
  GG_ASSIGN_OR_RETURN(exchange->inflight_,
                      Inflight::Create(device, *context.group, *context.clock, m.floats, m.format));
  if (m.format.encoding != Encoding::kTopk) return exchange;
  for (const size_t floats : m.floats) {
    auto rest = device.Allocate(floats * sizeof(float));
    if (!rest.ok()) return Annotate(rest.status(), "what topk leaves out");
    exchange->rests_.push_back(*std::move(rest));
  }
  return exchange;
}

absl::Status PartnerExchange::BeginStep(uint64_t step) {
  GG_RETURN_IF_ERROR(inflight_->aborted());
  step_ = step;
  rounds_.Begin(step);
  watch_.ResetBudget();
  return absl::OkStatus();
}

void PartnerExchange::Meet(const Partners& partners) {
  inflight_->Meet(round(), partners.recv_from, partners.send_to);
}

void PartnerExchange::Expect(int unit, const Partners& partners) {
  if (partners.recv_from < 0) return;
  const bool last_one_to_come = exchanges_[unit].open && exchanges_[unit].round != round();
  if (last_one_to_come) return;
  inflight_->PostRecv(unit, round(), partners.recv_from);
}

absl::Status PartnerExchange::Share(int unit, const Partners& partners,
                                    absl::Span<const ConstFlat> parts, bool by_difference) {
  const absl::Time start = context_.clock->Now();
  exchanges_[unit] = {.open = true,
                      .snapshot = false,
                      .step = step_,
                      .round = round(),
                      .partners = partners,
                      .begun = start};
  const bool measure = round() < kNormEvery || round() % kNormEvery == 0;
  // Gradients may differ by any factor.
  if (measure && !messages_.gradients && context_.spec.norm_limit > 0) {
    own_norms_[unit] = NormOf(parts);
  }
  const Rank to = partners.send_to;
  if (to < 0 && (partners.recv_from < 0 || !by_difference)) return absl::OkStatus();
  // Where the transport is only a little behind, a wait here saves the partner a whole deadline;
  // almost always there is none.
  const bool full = to >= 0 && inflight_->HeldBy(to, unit) >= Inflight::kHeldPerPeer;
  GG_ASSIGN_OR_RETURN(const Flat message,
                      inflight_->Outgoing(unit, round(), to, full ? watch_.WaitUntil(to) : start));
  watch_.Waited(start, stats_);
  GG_RETURN_IF_ERROR(inflight_->aborted());
  if (message.empty()) {
    watch_.SendHeldBack(to, step_, unit);
    return absl::OkStatus();
  }
  const absl::Time copying = context_.clock->Now();
  GG_RETURN_IF_ERROR(Fill(unit, parts, message));
  exchanges_[unit].snapshot = true;
  if (to >= 0) {
    inflight_->Send(unit, round(), to);
    GG_RETURN_IF_ERROR(KeepRest(unit, message));
  }
  stats_.mixed += context_.clock->Now() - copying;
  if (to < 0) return absl::OkStatus();
  const size_t bytes = inflight_->WireBytes(unit);
  ++stats_.messages_sent;
  stats_.bytes_sent += bytes;
  context_.metrics->Add(CounterId::kGossipMessages, 1, {"sent", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes, static_cast<double>(bytes),
                        {"sent", context_.transport});
  return absl::OkStatus();
}

absl::Status PartnerExchange::Fill(int unit, absl::Span<const ConstFlat> parts, Flat message) {
  size_t at = 0;
  for (const ConstFlat part : parts) {
    GG_RETURN_IF_ERROR(
        context_.device->Copy(*context_.stream, part, message.subspan(at, part.size())));
    at += part.size();
  }
  if (!rests_.empty()) {
    const Flat rest = rests_[unit]->floats().subspan(0, message.size());
    GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, 1, rest, 1, message));
    GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, message, rest));
  }
  return context_.stream->Synchronize();
}

absl::Status PartnerExchange::KeepRest(int unit, ConstFlat sent) {
  if (rests_.empty()) return absl::OkStatus();
  const Flat rest = rests_[unit]->floats().subspan(0, sent.size());
  GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, -1, sent, 1, rest));
  return context_.stream->Synchronize();
}

absl::StatusOr<Flat> PartnerExchange::Collect(int unit, const UnitExchange& exchange,
                                              bool by_difference, uint64_t age) {
  const Rank partner = exchange.partners.recv_from;
  if (partner < 0) return Flat();
  const absl::Time start = context_.clock->Now();
  // Once more, in case that the buffer was not free when the step began.
  inflight_->PostRecv(unit, exchange.round, partner);
  // After a jump nobody is in that round any more.
  const bool passed = exchange.round + 1 < round();
  const absl::Status arrived =
      inflight_->Await(unit, exchange.round, passed ? start : watch_.WaitUntil(partner));
  watch_.Waited(start, stats_);
  GG_RETURN_IF_ERROR(inflight_->aborted());
  if (!arrived.ok() && passed) {
    watch_.WeWereLate(stats_);
    return Flat();
  }
  if (!arrived.ok()) {
    rounds_.Ask(partner, exchange.round);
    watch_.Missed(partner, exchange.step, unit, arrived, stats_);
    return Flat();
  }
  rounds_.Heard(partner);
  const Flat received = inflight_->Received(unit);
  context_.metrics->Add(CounterId::kGossipMessages, 1, {"received", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes, static_cast<double>(inflight_->WireBytes(unit)),
                        {"received", context_.transport});
  if (!Acceptable(unit, exchange, received, age)) return Flat();
  if (by_difference && !exchange.snapshot) {
    // Nothing of ours to take the difference to; the reason was counted when it was held back.
    ++stats_.exchanges_skipped;
    return Flat();
  }
  return received;
}

bool PartnerExchange::Acceptable(int unit, const UnitExchange& exchange, ConstFlat received,
                                 uint64_t age) {
  const Rank partner = exchange.partners.recv_from;
  const Verdict verdict = guard_.Check(partner, {&received, 1}, own_norms_[unit], age);
  if (verdict == Verdict::kTake) return true;
  watch_.Refused(partner, exchange.step, unit, verdict, guard_, stats_);
  return false;
}

void PartnerExchange::Mixed(const UnitExchange& exchange, absl::Time mixing, uint64_t age) {
  stats_.mixed += context_.clock->Now() - mixing;
  watch_.Done(exchange.partners.recv_from, exchange.begun, stats_);
  context_.metrics->Set(GaugeId::kGossipStaleness, static_cast<double>(age));
  context_.metrics->Observe(HistogramId::kMessageAge, static_cast<double>(age));
}

absl::Status PartnerExchange::Measure(const UnitExchange& exchange, ConstFlat ours,
                                      ConstFlat theirs) {
  if (exchange.round % kDistanceEvery != 0) return absl::OkStatus();
  GG_ASSIGN_OR_RETURN(const double squared,
                      context_.device->SquaredDistance(*context_.stream, ours, theirs));
  squared_distance_ += squared;
  ++distances_;
  return absl::OkStatus();
}

void PartnerExchange::Settle() {
  const absl::Time start = context_.clock->Now();
  inflight_->Flush(start + absl::Seconds(context_.spec.deadline_seconds));
  watch_.Waited(start, stats_);
}

void PartnerExchange::EndStep() {
  const uint64_t over = round() - std::min(round(), inflight_->apart());
  inflight_->ReleaseHeld(over);
  context_.group->Expire(Channel::kExchange, over);
  for (const Inflight::SendFailure& failure : inflight_->TakeSendFailures()) {
    watch_.SendFailed(failure.to, failure.step, failure.status);
  }
}

ExchangeStats PartnerExchange::TakeStats() {
  if (distances_ == messages_.distance_units) {
    stats_.partner_distance = std::sqrt(squared_distance_);
    context_.metrics->Set(GaugeId::kGossipPartnerDistance, stats_.partner_distance);
  }
  squared_distance_ = 0;
  distances_ = 0;
  return std::exchange(stats_, ExchangeStats());
}

}  // namespace gg
