// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/partner_exchange.h"

#include <cmath>
#include <utility>

#include "core/status.h"
#include "worker/exchange/finite.h"

namespace gg {
namespace {

// The distance costs one more pass over the message.
constexpr uint64_t kDistanceEvery = 10;

}  // namespace

absl::StatusOr<std::unique_ptr<PartnerExchange>> PartnerExchange::Create(
    ExchangeContext& context, const std::vector<size_t>& floats, int distance_units) {
  std::unique_ptr<PartnerExchange> exchange(
      new PartnerExchange(context, static_cast<int>(floats.size()), distance_units));
  GG_ASSIGN_OR_RETURN(exchange->inflight_,
                      Inflight::Create(*context.device, *context.group, *context.clock, floats));
  return exchange;
}

absl::Status PartnerExchange::BeginStep(uint64_t step) {
  GG_RETURN_IF_ERROR(inflight_->aborted());
  step_ = step;
  rounds_.Begin(step);
  watch_.ResetBudget();
  return absl::OkStatus();
}

void PartnerExchange::Expect(int unit, const Partners& partners) {
  const bool last_one_to_come = exchanges_[unit].open && exchanges_[unit].round != round();
  if (last_one_to_come) return;
  inflight_->PostRecv(unit, round(), partners.recv_from);
}

absl::Status PartnerExchange::Share(int unit, const Partners& partners,
                                    absl::Span<const ConstFlat> parts) {
  const absl::Time start = context_.clock->Now();
  exchanges_[unit] = {.open = true,
                      .snapshot = false,
                      .step = step_,
                      .round = round(),
                      .partners = partners,
                      .begun = start};
  const Rank to = partners.send_to;
  // Where the transport is only a little behind, a wait here saves the partner a whole deadline;
  // almost always there is none.
  const bool full = inflight_->HeldBy(to, unit) >= Inflight::kHeldPerPeer;
  GG_ASSIGN_OR_RETURN(const Flat message,
                      inflight_->Outgoing(unit, round(), to, full ? watch_.WaitUntil(to) : start));
  watch_.Waited(start, stats_);
  GG_RETURN_IF_ERROR(inflight_->aborted());
  if (message.empty()) {
    watch_.SendHeldBack(to, step_, unit);
    return absl::OkStatus();
  }
  const absl::Time copying = context_.clock->Now();
  size_t at = 0;
  for (const ConstFlat part : parts) {
    GG_RETURN_IF_ERROR(
        context_.device->Copy(*context_.stream, part, message.subspan(at, part.size())));
    at += part.size();
  }
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  exchanges_[unit].snapshot = true;
  stats_.mixed += context_.clock->Now() - copying;
  inflight_->Send(unit, round(), to);
  const size_t bytes = message.size() * sizeof(float);
  ++stats_.messages_sent;
  stats_.bytes_sent += bytes;
  context_.metrics->Add(CounterId::kGossipMessages, 1, {"sent", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes, static_cast<double>(bytes),
                        {"sent", context_.transport});
  return absl::OkStatus();
}

absl::StatusOr<Flat> PartnerExchange::Collect(int unit, const UnitExchange& exchange,
                                              bool by_difference) {
  const Rank partner = exchange.partners.recv_from;
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
  context_.metrics->Add(CounterId::kGossipBytes,
                        static_cast<double>(received.size() * sizeof(float)),
                        {"received", context_.transport});
  if (!Acceptable(unit, exchange, received)) return Flat();
  if (by_difference && !exchange.snapshot) {
    // Nothing of ours to take the difference to; the reason was counted when it was held back.
    ++stats_.exchanges_skipped;
    return Flat();
  }
  return received;
}

bool PartnerExchange::Acceptable(int unit, const UnitExchange& exchange, ConstFlat received) {
  if (AllFinite(received)) return true;
  watch_.NonFinite(exchange.partners.recv_from, exchange.step, unit, stats_);
  return false;
}

void PartnerExchange::Mixed(const UnitExchange& exchange, absl::Time mixing) {
  stats_.mixed += context_.clock->Now() - mixing;
  watch_.Done(exchange.partners.recv_from, exchange.begun, stats_);
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

void PartnerExchange::EndStep() {
  context_.group->Expire(Channel::kExchange, round());
  for (const Inflight::SendFailure& failure : inflight_->TakeSendFailures()) {
    watch_.SendFailed(failure.to, failure.step, failure.status);
  }
}

ExchangeStats PartnerExchange::TakeStats() {
  if (distances_ == distance_units_) {
    stats_.partner_distance = std::sqrt(squared_distance_);
    context_.metrics->Set(GaugeId::kGossipPartnerDistance, stats_.partner_distance);
  }
  squared_distance_ = 0;
  distances_ = 0;
  return std::exchange(stats_, ExchangeStats());
}

}  // namespace gg
