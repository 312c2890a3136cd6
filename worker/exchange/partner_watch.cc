// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/partner_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

SkipReason ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return SkipReason::kLate;
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kInvalidArgument:  // a message of another size
      return SkipReason::kCorrupt;
    default:
      return SkipReason::kLost;
  }
}

SkipReason ReasonOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNonFinite:
      return SkipReason::kNonFinite;
    case Verdict::kNorm:
      return SkipReason::kNorm;
    case Verdict::kStale:
      return SkipReason::kStale;
    case Verdict::kTake:
    case Verdict::kQuarantine:
      break;
  }
  return SkipReason::kQuarantine;
}

}  // namespace

absl::string_view SkipReasonName(SkipReason reason) {
  switch (reason) {
    case SkipReason::kLate:
      return "late";
    case SkipReason::kLost:
      return "lost";
    case SkipReason::kCorrupt:
      return "corrupt";
    case SkipReason::kNonFinite:
      return "nonfinite";
    case SkipReason::kNorm:
      return "norm";
    case SkipReason::kStale:
      return "stale";
    case SkipReason::kQuarantine:
      return "quarantine";
    case SkipReason::kSendPending:
      return "send_pending";
    case SkipReason::kSendFailed:
      return "send_failed";
    case SkipReason::kAverage:
      return "average";
  }
  return "unknown";
}

PartnerWatch::PartnerWatch(ExchangeContext& context)
    : context_(context),
      deadline_(absl::Seconds(context.spec.deadline_seconds)),
      budget_(deadline_),
      health_(context.size, deadline_) {}

absl::Time PartnerWatch::WaitUntil(Rank partner) const {
  const absl::Time now = context_.clock->Now();
  return now + std::min(budget_, health_.Patience(partner, now));
}

void PartnerWatch::Waited(absl::Time start, ExchangeStats& stats) {
  const absl::Duration waited = context_.clock->Now() - start;
  stats.waited += waited;
  budget_ = std::max(absl::ZeroDuration(), budget_ - waited);
}

void PartnerWatch::Done(Rank partner, absl::Time begun, ExchangeStats& stats, bool in_time) {
  in_time ? health_.Heard(partner) : health_.Alive(partner);
  ++stats.exchanges_done;
  context_.metrics->Add(CounterId::kGossipExchanges, 1, "ok");
  context_.metrics->Observe(HistogramId::kExchangeDuration,
                            absl::ToDoubleSeconds(context_.clock->Now() - begun));
}

void PartnerWatch::Missed(Rank partner, uint64_t step, int unit, const absl::Status& status,
                          ExchangeStats& stats) {
  const absl::Time now = context_.clock->Now();
  const SkipReason reason = ReasonOf(status);
  Skip(reason, stats);
  Tell(partner, step, SkipReasonName(reason),
       absl::StrCat(
           "step ", step, " went on without unit ", unit, " of ", Name(partner), ": ",
           status.message(),
           reason == SkipReason::kLate
               ? absl::StrCat(" within ", absl::FormatDuration(health_.Patience(partner, now)))
               : ""));
  // A corrupt message costs no waiting, and its sender is alive.
  if (reason == SkipReason::kCorrupt) return;
  health_.Missed(partner, step, reason == SkipReason::kLost, now);
}

void PartnerWatch::Refused(Rank partner, uint64_t step, int unit, Verdict verdict,
                           const ReceiptGuard& guard, ExchangeStats& stats) {
  const SkipReason reason = ReasonOf(verdict);
  Skip(reason, stats);
  // Whatever it sends, it is there.
  health_.Alive(partner);
  if (verdict == Verdict::kQuarantine) return;  // told when it began
  if (verdict == Verdict::kNonFinite) {
    context_.metrics->Add(CounterId::kNonFinite, 1, "exchange");
  }
  if (guard.begun()) told_.erase({step, partner});
  Tell(partner, step, SkipReasonName(guard.begun() ? SkipReason::kQuarantine : reason),
       absl::StrCat("step ", step, " refused unit ", unit, " of ", Name(partner), ": ",
                    guard.why()));
}

void PartnerWatch::SendHeldBack(Rank partner, uint64_t step, int unit) {
  Count(SkipReason::kSendPending);
  Tell(partner, step, "late",
       absl::StrCat("step ", step, " did not send unit ", unit, " to ", Name(partner),
                    ", which has not taken the last messages of that unit"));
  // Several steps: not a hiccup.
  health_.Missed(partner, step, true, context_.clock->Now());
}

void PartnerWatch::SendFailed(Rank partner, uint64_t step, const absl::Status& status) {
  // Our own group closing, or the partner's step being over: nobody's fault.
  if (status.code() == absl::StatusCode::kCancelled) return;
  Count(SkipReason::kSendFailed);
  Tell(partner, step, "lost",
       absl::StrCat("the message of step ", step, " to ", Name(partner),
                    " failed: ", status.message()));
  health_.Missed(partner, step, true, context_.clock->Now());
}

void PartnerWatch::AverageFailed(Rank partner, uint64_t step, const absl::Status& status) {
  Count(SkipReason::kAverage);
  if (partner < 0) return;
  Tell(partner, step, SkipReasonName(ReasonOf(status)),
       absl::StrCat("step ", step, ": ", status.message()));
}

void PartnerWatch::Skip(SkipReason reason, ExchangeStats& stats) {
  ++stats.exchanges_skipped;
  context_.metrics->Add(CounterId::kGossipExchanges, 1,
                        reason == SkipReason::kLate ? "late" : "lost");
  Count(reason);
}

void PartnerWatch::Count(SkipReason reason) {
  context_.metrics->Add(CounterId::kGossipSkipped, 1, SkipReasonName(reason));
}

void PartnerWatch::Tell(Rank partner, uint64_t step, absl::string_view reason, std::string detail) {
  if (!health_.WorthWaiting(partner, context_.clock->Now())) return;
  if (!told_.insert({step, partner}).second) return;
  // Steps only grow: what lies far back is not asked for again.
  while (told_.size() > 64) told_.erase(told_.begin());
  if (!context_.on_incident) return;
  context_.on_incident({.step = step,
                        .partner = partner,
                        .worker_id = context_.group->view().members[partner].worker_id,
                        .reason = std::string(reason),
                        .detail = std::move(detail)});
}

std::string PartnerWatch::Name(Rank partner) const {
  return absl::StrCat("rank ", partner, " (", context_.group->view().members[partner].worker_id,
                      ")");
}

}  // namespace gg
