// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/rounds.h"

#include <vector>

namespace gg {

void Rounds::Begin(uint64_t step) {
  now_ = step + left_out_;
  const std::vector<RoundNote> notes = notes_->Take();
  // Who missed us in a round is in the next one by now. One round is no more than the waiting of
  // the others makes good.
  for (const RoundNote& note : notes) {
    if (note.round > now_) now_ = note.round + 1;
  }
  left_out_ = now_ - step;
  for (const RoundNote& note : notes) {
    watch_.Alive(note.from);
    // Those who read it begin the round that we are in.
    if (note.question && now_ > 0) notes_->Tell(note.from, now_ - 1, /*question=*/false);
  }
}

void Rounds::Ask(Rank partner, uint64_t round) {
  if (watch_.WorthWaiting(partner)) notes_->Tell(partner, round, /*question=*/true);
}

void ShowRound(MetricSink& metrics, const PartnerSchedule& schedule, bool rotate, uint64_t round) {
  const uint64_t rotation = round / schedule.round_length();
  metrics.Set(GaugeId::kGossipRound, static_cast<double>(rotation + 1));
  metrics.Set(GaugeId::kGossipRotation, rotate ? static_cast<double>(rotation) : 0);
}

}  // namespace gg
