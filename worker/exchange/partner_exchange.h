// SPDX-License-Identifier: Apache-2.0
//
// One message each way with partners that are known beforehand, unit by unit: a snapshot of ours is
// lent to the transport, theirs is waited for, judged (receipt_guard.h) and handed to the method, or
// counted as left out. What the methods with partners do with it is theirs. A worker whom the
// schedule gives nobody to send to or to receive from (rank -1) leaves that half out.
//
// With topk, what a message leaves out is added to the unit's next one.
//
// Thread-safety: thread-compatible, except Abort.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_PARTNER_EXCHANGE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_PARTNER_EXCHANGE_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/schedule/schedule.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/inflight.h"
#include "worker/exchange/partner_watch.h"
#include "worker/exchange/receipt_guard.h"
#include "worker/exchange/rounds.h"
#include "worker/wire/encoding.h"

namespace gg {

// One unit's exchange with the partners of one round, from Share to Collect.
struct UnitExchange {
  bool open = false;
  bool snapshot = false;  // our own part lies in the send buffer
  uint64_t step = 0;
  uint64_t round = 0;
  Partners partners;
  absl::Time begun;
};

struct PartnerMessages {
  std::vector<size_t> floats;  // of each unit's message
  int distance_units = 0;      // the model's distance to a partner is that of so many of them
  bool gradients = false;      // else models, whose norms are alike
  WireFormat format;
};

class PartnerExchange {
 public:
  // Keeps pointers of `context`, which must outlive this. kResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<PartnerExchange>> Create(ExchangeContext& context,
                                                                 PartnerMessages messages);

  // Finds the round of this step. The status of Abort.
  absl::Status BeginStep(uint64_t step);
  uint64_t round() const { return rounds_.now(); }
  Rounds& rounds() { return rounds_; }

  // Once for each pair of partners of the round that BeginStep has found, before the calls below.
  void Meet(const Partners& partners);
  // Posts the receive of this round where the buffer is free.
  void Expect(int unit, const Partners& partners);
  // Takes the snapshot, `parts` one behind the other, and sends it. Without a free buffer nothing is
  // sent, which is counted. Where there is nobody to send to a snapshot is taken only if it will be
  // needed (`by_difference`). An error is local or an abort.
  absl::Status Share(int unit, const Partners& partners, absl::Span<const ConstFlat> parts,
                     bool by_difference);
  // Waits for the partner's part of `exchange`: valid until the next Expect. Empty: it is left out,
  // which is counted; also where the difference to our snapshot is wanted (`by_difference`) and
  // there is none. `age`: the steps that lie between the snapshots and the mix. An error is local or
  // an abort.
  absl::StatusOr<Flat> Collect(int unit, const UnitExchange& exchange, bool by_difference,
                               uint64_t age);
  // The unit was mixed, which began at `mixing`.
  void Mixed(const UnitExchange& exchange, absl::Time mixing, uint64_t age);

  // The latest of the unit.
  UnitExchange& latest(int unit) { return exchanges_[unit]; }
  // What Share has sent in `exchange`, which has a snapshot: as the partner decodes it.
  Flat Sent(int unit, const UnitExchange& exchange) {
    return inflight_->Sent(unit, exchange.round);
  }

  // Adds a unit to the distance between `ours` and `theirs`, every few rounds.
  absl::Status Measure(const UnitExchange& exchange, ConstFlat ours, ConstFlat theirs);

  // All messages of ours leave: the training thread stops for something else, or ends.
  void Settle();
  // After the exchanges of a step: forgets its round, counts the sends that failed.
  void EndStep();

  PartnerWatch& watch() { return watch_; }
  ExchangeStats& stats() { return stats_; }
  // Since the last call.
  ExchangeStats TakeStats();

  absl::Status aborted() { return inflight_->aborted(); }
  void Abort(absl::Status why) { inflight_->Abort(std::move(why)); }

 private:
  PartnerExchange(ExchangeContext& context, PartnerMessages messages);

  // Fills the unit's message; with topk, together with what earlier ones have left out.
  absl::Status Fill(int unit, absl::Span<const ConstFlat> parts, Flat message);
  // Keeps what the message of the unit, that has been sent, leaves out.
  absl::Status KeepRest(int unit, ConstFlat sent);
  // Whether what the partner sent may be let near the model; else it is counted.
  bool Acceptable(int unit, const UnitExchange& exchange, ConstFlat received, uint64_t age);

  ExchangeContext& context_;
  const PartnerMessages messages_;
  PartnerWatch watch_;
  ReceiptGuard guard_;
  Rounds rounds_;
  std::shared_ptr<Inflight> inflight_;
  std::vector<UnitExchange> exchanges_;
  std::vector<double> own_norms_;               // of each unit, a few rounds old; for the guard
  std::vector<std::unique_ptr<Buffer>> rests_;  // topk: what each unit has not sent yet
  uint64_t step_ = 0;
  ExchangeStats stats_;
  double squared_distance_ = 0;
  int distances_ = 0;  // units in squared_distance_
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_PARTNER_EXCHANGE_H_
