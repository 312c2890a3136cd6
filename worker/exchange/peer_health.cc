// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/peer_health.h"

#include <algorithm>

namespace gg {

absl::Duration PeerHealth::Patience(Rank peer, absl::Time now) const {
  if (!WorthWaiting(peer, now)) return absl::ZeroDuration();
  return peers_[peer].missed ? deadline_ / 2 : deadline_;
}

void PeerHealth::Alive(Rank peer) {
  const bool missed = peers_[peer].missed;
  peers_[peer] = Peer();
  peers_[peer].missed = missed;
}

void PeerHealth::Missed(Rank peer, uint64_t step, bool lost, absl::Time now) {
  Peer& p = peers_[peer];
  p.missed = true;
  if (!WorthWaiting(peer, now)) return;
  if (p.last_miss != step) ++p.misses_in_a_row;
  p.last_miss = step;
  // Late once is a hiccup of the partner; the second time in a row is a habit.
  if (!lost && p.misses_in_a_row < 2) return;
  p.pauses = std::min(p.pauses + 1, 4);
  p.pause_until = now + deadline_ * (1 << p.pauses);
}

}  // namespace gg
