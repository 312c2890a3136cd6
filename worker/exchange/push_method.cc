// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/push_method.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/status.h"

namespace gg {
namespace {

enum Kind : uint64_t { kDone = 1, kAsk, kAlive };

constexpr int kAsksPerPatience = 8;

}  // namespace

PushMethod::PushMethod(ExchangeContext context, std::string name, size_t max_floats, int pool,
                       WireFormat format)
    : context_(std::move(context)),
      watch_(context_),
      guard_(context_),
      average_(context_),
      name_(std::move(name)),
      mailbox_(Mailbox::Create(*context_.device, *context_.group, *context_.clock, context_.size,
                               max_floats, pool, format)),
      peers_(context_.size) {}

absl::Status PushMethod::BeginStep(uint64_t step) {
  GG_RETURN_IF_ERROR(mailbox_->aborted());
  step_ = step;
  for (Peer& peer : peers_) peer.told = false;
  return Attend();
}

absl::StatusOr<ExchangeStats> PushMethod::EndStep(uint64_t step) {
  steps_done_ = step + 1;
  GG_RETURN_IF_ERROR(AfterStep());
  const uint64_t paces_done = Pace() + 1;
  if (average_.Due(paces_done)) {
    GG_RETURN_IF_ERROR(average_.RunPeriodic(paces_done, watch_, stats_, Share()));
  }
  return std::exchange(stats_, ExchangeStats());
}

absl::StatusOr<ExchangeStats> PushMethod::Settle() {
  GG_RETURN_IF_ERROR(mailbox_->aborted());
  return std::exchange(stats_, ExchangeStats());
}

absl::StatusOr<double> PushMethod::AverageReplicas(absl::Time deadline) {
  const absl::Duration patience = deadline - context_.clock->Now();
  GG_RETURN_IF_ERROR(Quiesce(patience));
  return Close(context_.clock->Now() + patience);
}

absl::StatusOr<double> PushMethod::Close(absl::Time deadline) {
  return average_.Run(steps_done_, deadline, Share(), ReplicaAverage::When::kClosing);
}

void PushMethod::Abort(absl::Status why) {
  average_.Abort(why);
  mailbox_->Abort(std::move(why));
}

Rank PushMethod::DrawPeer(Rng& rng) const {
  const Rank other = static_cast<Rank>(rng.Below(context_.size - 1));
  return other + (other >= context_.rank ? 1 : 0);
}

absl::StatusOr<Flat> PushMethod::Outgoing(Rank to) {
  GG_ASSIGN_OR_RETURN(const Flat body, mailbox_->Outgoing(to));
  if (body.empty() && !aborted()) watch_.SendHeldBack(to, step_, 0);
  return body;
}

absl::Status PushMethod::Halve(Rank to, Flat message) {
  const Flat live = context_.arena->weights();
  GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, live, message));
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  if (mailbox_->exact()) return absl::OkStatus();
  Round(to, message.size());
  GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, -1, message, 2, live));
  return context_.stream->Synchronize();
}

void PushMethod::Push(Rank to, uint64_t kind, uint64_t number, double weight, size_t floats) {
  Push(to, {.kind = kind, .step = step_, .number = number, .weight = weight}, floats);
}

void PushMethod::Push(Rank to, const PushNote& note, size_t floats) {
  mailbox_->Push(to, note, floats);
  ++peers_[to].sent;
  ++stats_.messages_sent;
  const size_t bytes = mailbox_->WireBytes(floats);
  stats_.bytes_sent += bytes;
  context_.metrics->Add(CounterId::kGossipMessages, 1, {"sent", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes, static_cast<double>(bytes),
                        {"sent", context_.transport});
}

void PushMethod::Tell(Rank to, uint64_t kind, uint64_t number) {
  mailbox_->Push(to, {.kind = kind, .step = step_, .number = number});
}

void PushMethod::ReportDistance(double squared) {
  stats_.partner_distance = std::sqrt(squared);
  context_.metrics->Set(GaugeId::kGossipPartnerDistance, stats_.partner_distance);
}

bool PushMethod::Acceptable(const Mailbox::Arrival& arrival, ConstFlat own, uint64_t age,
                            double scale) {
  Norm& norm = own_norms_[own.data()];
  const bool measure = norm.uses++ % kDistanceEvery == 0 && context_.spec.norm_limit > 0;
  if (measure) norm.value = NormOf({&own, 1});
  const ConstFlat body = arrival.body;
  const Verdict verdict = guard_.Check(arrival.from, {&body, 1}, scale * norm.value, age);
  if (verdict == Verdict::kTake) return true;
  watch_.Refused(arrival.from, step_, 0, verdict, guard_, stats_);
  return false;
}

void PushMethod::ReportMixed(const Mailbox::Arrival& arrival, absl::Time begun) {
  watch_.Done(arrival.from, begun, stats_);
  const double age = static_cast<double>(Age(arrival.note.step));
  context_.metrics->Set(GaugeId::kGossipStaleness, age);
  context_.metrics->Observe(HistogramId::kMessageAge, age);
}

absl::Status PushMethod::Attend() {
  NoteFailures();
  absl::Status status;
  for (const Mailbox::Arrival& arrival : mailbox_->Take()) {
    const bool heard = status.ok();
    if (heard) status = Hear(arrival);
    if (!heard || !Keeps()) mailbox_->Release(arrival);
  }
  return status;
}

absl::Status PushMethod::Hear(const Mailbox::Arrival& arrival) {
  Peer& peer = peers_[arrival.from];
  peer.heard = context_.clock->Now();
  watch_.Alive(arrival.from);
  switch (arrival.note.kind) {
    case kDone:
      peer.done_at = arrival.note.step;
      peer.done_since = peer.heard;
      peer.promised = arrival.note.number;
      return absl::OkStatus();
    case kAsk:
      Tell(arrival.from, kAlive, 0);
      return absl::OkStatus();
    case kAlive:
      return absl::OkStatus();
  }
  if (!arrival.status.ok() || !arrival.body.empty()) ++peer.received;
  if (!arrival.body.empty()) {
    context_.metrics->Add(CounterId::kGossipMessages, 1, {"received", context_.transport});
    context_.metrics->Add(CounterId::kGossipBytes,
                          static_cast<double>(mailbox_->WireBytes(arrival.body.size())),
                          {"received", context_.transport});
  }
  const absl::Time start = context_.clock->Now();
  const absl::Status status = OnArrival(arrival);
  stats_.mixed += context_.clock->Now() - start;
  return status;
}

void PushMethod::NoteFailures() {
  for (Mailbox::Failure& failure : mailbox_->TakeFailures()) {
    if (failure.floats > 0) {
      --peers_[failure.to].sent;
      watch_.SendFailed(failure.to, failure.note.step, failure.status);
      OnFailure(failure);
    } else if (failure.note.kind == kDone) {
      peers_[failure.to].told = false;
    }
  }
}

void PushMethod::TellDone(Rank to) {
  Peer& peer = peers_[to];
  // What is under way may fail, and would not come.
  if (peer.told || mailbox_->UnderWay(to) > 0 || !mailbox_->Reachable(to)) return;
  peer.told = mailbox_->Push(to, {.kind = kDone, .step = step_, .number = peer.sent});
}

absl::Status PushMethod::Ended(Rank rank, absl::Duration patience) {
  const Peer& peer = peers_[rank];
  const absl::Time now = context_.clock->Now();
  const absl::Duration deadline = absl::Seconds(context_.spec.deadline_seconds);
  const bool told = peer.told && mailbox_->UnderWay(rank) == 0;
  // Not of an earlier end, when the run went on after it.
  if (peer.done_at == step_ && told) {
    if (peer.received >= peer.promised) return absl::OkStatus();
    // Messages keep their order: it was lost on the way, or is being read.
    if (now >= peer.done_since + deadline) return absl::OkStatus();
  }
  const std::string who =
      absl::StrCat("rank ", rank, " (", context_.group->view().members[rank].worker_id, ")");
  if (!mailbox_->Reachable(rank) && now >= peer.heard + std::min(patience, deadline)) {
    return absl::DeadlineExceededError(absl::StrCat(who, " is gone"));
  }
  if (now >= peer.heard + patience) {
    return absl::DeadlineExceededError(
        absl::StrCat(who, " has given no sign of life for ", absl::FormatDuration(patience)));
  }
  return absl::UnavailableError(who);
}

absl::Status PushMethod::Quiesce(absl::Duration patience) {
  const absl::Time begun = context_.clock->Now();
  for (Peer& peer : peers_) peer.heard = peer.done_since = begun;
  const absl::Duration between = patience / kAsksPerPatience;
  absl::Time ask_at = begun + between;
  for (;;) {
    GG_RETURN_IF_ERROR(Attend());
    const absl::Time now = context_.clock->Now();
    const bool ask = now >= ask_at;
    if (ask) ask_at = now + between;
    const bool open = AnythingOpen();
    bool over = !open;
    for (Rank r = 0; r < context_.size; ++r) {
      if (r == context_.rank) continue;
      if (!open) TellDone(r);
      const absl::Status ended = Ended(r, patience);
      if (absl::IsDeadlineExceeded(ended)) {
        return Annotate(ended, "waiting for all to end their steps");
      }
      over &= ended.ok();
      if (ask && !ended.ok()) Tell(r, kAsk, 0);
    }
    if (over) return absl::OkStatus();
    // Limits of all kinds pass without news.
    const absl::Duration tick =
        std::min({between, absl::Seconds(context_.spec.deadline_seconds) / 4, absl::Seconds(1)});
    const absl::Status news = mailbox_->Await(now + tick);
    if (!news.ok() && !absl::IsDeadlineExceeded(news)) return news;
  }
}

}  // namespace gg
