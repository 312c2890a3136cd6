// SPDX-License-Identifier: Apache-2.0
//
// What became of the exchanges with each partner: how long one may be waited for, the counters, and
// the incidents. A step waits at most one deadline for its partner, all units together. An incident
// is told once per partner and step, beside the beginning of a quarantine, and not while the partner's pause lasts (peer_health.h): a
// partner that stays away is news once per probe.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_PARTNER_WATCH_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_PARTNER_WATCH_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/peer_health.h"
#include "worker/exchange/receipt_guard.h"

namespace gg {

// Why a part of the exchange was left out: the values of gossip_skipped_total{reason}, whose help
// (core/metrics/catalogue.h) says what each means.
enum class SkipReason {
  kLate,
  kLost,
  kCorrupt,
  kNonFinite,
  kNorm,
  kStale,
  kQuarantine,
  kSendPending,
  kSendFailed,
  kAverage
};
inline constexpr SkipReason kAllSkipReasons[] = {
    SkipReason::kLate,       SkipReason::kLost,   SkipReason::kCorrupt,    SkipReason::kNonFinite,
    SkipReason::kNorm,       SkipReason::kStale,  SkipReason::kQuarantine, SkipReason::kSendPending,
    SkipReason::kSendFailed, SkipReason::kAverage};
absl::string_view SkipReasonName(SkipReason reason);

class PartnerWatch {
 public:
  // Uses spec, size, group, clock, metrics and on_incident of `context`, which must outlive this.
  explicit PartnerWatch(ExchangeContext& context);

  // A new step, or a Settle: the time to wait is full again.
  void ResetBudget() { budget_ = deadline_; }
  // Until when to wait for `partner` now.
  absl::Time WaitUntil(Rank partner) const;
  // A wait that began at `start` is over.
  void Waited(absl::Time start, ExchangeStats& stats);

  // One unit was mixed / went on without its partner because of `status`. Not `in_time`: it was
  // mixed after all, though nobody waited for it any more.
  void Done(Rank partner, absl::Time begun, ExchangeStats& stats, bool in_time = true);
  void Missed(Rank partner, uint64_t step, int unit, const absl::Status& status,
              ExchangeStats& stats);
  // The guard's last Check, of this unit, said `verdict`, which is no kTake.
  void Refused(Rank partner, uint64_t step, int unit, Verdict verdict, const ReceiptGuard& guard,
               ExchangeStats& stats);
  // The exchange of `step` was left out because this worker itself was late for it.
  void WeWereLate(ExchangeStats& stats) { Skip(SkipReason::kLate, stats); }
  // The unit was not sent to `partner`, because it has not taken the last messages of that unit.
  void SendHeldBack(Rank partner, uint64_t step, int unit);
  // The partner gave a sign of life that is no exchange.
  void Alive(Rank partner) { health_.Alive(partner); }
  bool WorthWaiting(Rank partner) const {
    return health_.WorthWaiting(partner, context_.clock->Now());
  }
  void SendFailed(Rank partner, uint64_t step, const absl::Status& status);
  // The periodic average of `step` failed.
  void AverageFailed(Rank partner, uint64_t step, const absl::Status& status);

 private:
  // A unit of the partner's was not mixed.
  void Skip(SkipReason reason, ExchangeStats& stats);
  void Count(SkipReason reason);
  void Tell(Rank partner, uint64_t step, absl::string_view reason, std::string detail);
  std::string Name(Rank partner) const;

  ExchangeContext& context_;
  const absl::Duration deadline_;
  absl::Duration budget_;
  PeerHealth health_;
  std::set<std::pair<uint64_t, Rank>> told_;  // of the last few steps
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_PARTNER_WATCH_H_
