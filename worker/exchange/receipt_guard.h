// SPDX-License-Identifier: Apache-2.0
//
// What stands between a message and the model: one pass over what a peer sent, which finds out whether all of it is
// finite and how long it is as a vector. Refused: what is not finite, weights whose norm is out of all proportion to
// our own, and what is older than the job allows. A peer that sends such things again and again is put in quarantine:
// its messages are dropped unread for a number of exchanges, which doubles each time that it has not learnt better.
// Age alone is nobody's sickness and leads to no quarantine. docs/algorithms/guards.md.
//
// To adopt it: one private function of the method, that asks Check() and hands a refusal to PartnerWatch::Refused.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_RECEIPT_GUARD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_RECEIPT_GUARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "worker/exchange/exchange.h"

namespace gg {

enum class Verdict { kTake, kNonFinite, kNorm, kStale, kQuarantine };

// Euclidean norm of all parts together; NaN or infinite when a value is. In double, where the squares of finite
// floats cannot overflow.
double NormOf(absl::Span<const ConstFlat> parts);

class ReceiptGuard {
 public:
  // Exchanges that the first quarantine of a peer lasts, and how often it doubles.
  static constexpr uint64_t kFirstPause = 8;
  static constexpr int kDoublings = 7;

  // Uses spec, size and metrics of `context`, which must outlive this.
  explicit ReceiptGuard(const ExchangeContext& context);

  // Whether `parts`, one message of `peer`, may be used. `own_norm` is the norm of the same parts of our own, of some
  // steps ago if need be; 0 where there is nothing to compare with (gradients). `age`: our step minus the sender's.
  Verdict Check(Rank peer, absl::Span<const ConstFlat> parts, double own_norm, uint64_t age);

  // Of the last Check, when it refused: half a sentence about the message, and what it means for its sender.
  const std::string& why() const { return why_; }
  // Whether the last Check put its peer in quarantine.
  bool begun() const { return begun_; }
  bool quarantined(Rank peer) const { return peers_[peer].pause > 0; }

 private:
  struct Peer {
    int64_t refused_in_a_row = 0;
    int64_t taken_in_a_row = 0;
    int quarantines = 0;  // since it last behaved for some time
    uint64_t pause = 0;   // exchanges left
  };
  Verdict Judge(absl::Span<const ConstFlat> parts, double own_norm, uint64_t age);
  void Refused(Peer& peer);
  void Taken(Peer& peer);
  void ShowQuarantined();

  const ExchangeContext& context_;
  std::vector<Peer> peers_;
  std::string why_;
  bool begun_ = false;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_RECEIPT_GUARD_H_
