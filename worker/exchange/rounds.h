// SPDX-License-Identifier: Apache-2.0
//
// Which round this worker is in. Exchanges are numbered by rounds, and so are the schedules and the
// tags. A round is the step plus what this worker has left out: one that was away goes on with the
// round of those it meets (round_notes.h), because a partner that has passed a round sends nothing
// of it any more. Rounds only grow; without faults they are the steps.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_ROUNDS_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_ROUNDS_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/metrics/sink.h"
#include "core/schedule/schedule.h"
#include "worker/exchange/partner_watch.h"
#include "worker/exchange/round_notes.h"

namespace gg {

class Rounds {
 public:
  // `group` and `watch` must outlive the use of this.
  Rounds(PeerGroup& group, int size, PartnerWatch& watch)
      : notes_(RoundNotes::Create(group, size)), watch_(watch) {}

  // Answers who asks where we are, and finds the round of this step.
  void Begin(uint64_t step);
  uint64_t now() const { return now_; }
  // As ExchangeStrategy::rounds_left_out and LeaveOutRounds.
  uint64_t left_out() const { return left_out_; }
  void LeaveOut(uint64_t at_least) { left_out_ = std::max(left_out_, at_least); }

  // Nothing of `round` has come from the partner: it is asked where it is.
  void Ask(Rank partner, uint64_t round);
  // Something has.
  void Heard(Rank partner) { notes_->Reopen(partner); }

 private:
  const std::shared_ptr<RoundNotes> notes_;
  PartnerWatch& watch_;
  uint64_t left_out_ = 0;  // rounds
  uint64_t now_ = 0;       // step + left_out_
};

// Sets the gauges of the schedule's round and rotation in exchange round `round`.
void ShowRound(MetricSink& metrics, const PartnerSchedule& schedule, bool rotate, uint64_t round);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_ROUNDS_H_
