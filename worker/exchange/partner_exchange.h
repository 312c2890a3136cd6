// SPDX-License-Identifier: Apache-2.0
//
// One message each way with partners that are known beforehand, unit by unit: a snapshot of ours is
// lent to the transport, theirs is waited for, checked and handed to the method, or counted as left
// out. What the methods with partners do with it is theirs.
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
#include "worker/exchange/rounds.h"

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

class PartnerExchange {
 public:
  // Keeps pointers of `context`, which must outlive this. `floats[u]` is the size of unit u's
  // message; the model's own distance to a partner is that of `distance_units` of them.
  static absl::StatusOr<std::unique_ptr<PartnerExchange>> Create(ExchangeContext& context,
                                                                 const std::vector<size_t>& floats,
                                                                 int distance_units);

  // Finds the round of this step. The status of Abort.
  absl::Status BeginStep(uint64_t step);
  uint64_t round() const { return rounds_.now(); }

  // Posts the receive of this round where the buffer is free.
  void Expect(int unit, const Partners& partners);
  // Takes the snapshot, `parts` one behind the other, and sends it. Without a free buffer nothing is
  // sent, which is counted. An error is local or an abort.
  absl::Status Share(int unit, const Partners& partners, absl::Span<const ConstFlat> parts);
  // Waits for the partner's part of `exchange`: valid until the next Expect. Empty: it is left out,
  // which is counted; also where the difference to our snapshot is wanted (`by_difference`) and
  // there is none. An error is local or an abort.
  absl::StatusOr<Flat> Collect(int unit, const UnitExchange& exchange, bool by_difference);
  // The unit was mixed.
  void Mixed(const UnitExchange& exchange, absl::Time mixing);

  // The latest of the unit.
  UnitExchange& latest(int unit) { return exchanges_[unit]; }
  // What Share has sent in `exchange`, which has a snapshot.
  Flat Sent(int unit, const UnitExchange& exchange) {
    return inflight_->Sent(unit, exchange.round);
  }

  // Adds a unit to the distance between `ours` and `theirs`, every few rounds.
  absl::Status Measure(const UnitExchange& exchange, ConstFlat ours, ConstFlat theirs);

  // After the exchanges of a step: forgets its round, counts the sends that failed.
  void EndStep();

  PartnerWatch& watch() { return watch_; }
  ExchangeStats& stats() { return stats_; }
  // Since the last call.
  ExchangeStats TakeStats();

  absl::Status aborted() { return inflight_->aborted(); }
  void Abort(absl::Status why) { inflight_->Abort(std::move(why)); }

 private:
  PartnerExchange(ExchangeContext& context, int units, int distance_units)
      : context_(context),
        distance_units_(distance_units),
        watch_(context),
        rounds_(*context.group, context.size, watch_),
        exchanges_(static_cast<size_t>(units)) {}

  // Whether what the partner sent may be let near the model; else it is counted.
  bool Acceptable(int unit, const UnitExchange& exchange, ConstFlat received);

  ExchangeContext& context_;
  const int distance_units_;
  PartnerWatch watch_;
  Rounds rounds_;
  std::shared_ptr<Inflight> inflight_;
  std::vector<UnitExchange> exchanges_;
  uint64_t step_ = 0;
  ExchangeStats stats_;
  double squared_distance_ = 0;
  int distances_ = 0;  // units in squared_distance_
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_PARTNER_EXCHANGE_H_
