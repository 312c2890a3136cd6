// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/peer_health.h"

#include <algorithm>

namespace gg {

void PeerHealth::Heard(Rank peer) {
  peers_[peer] = Peer();
}

void PeerHealth::Missed(Rank peer, uint64_t step, bool lost, absl::Time now) {
  Peer& p = peers_[peer];
  if (!WorthWaiting(peer, now)) return;
  if (p.last_miss != step) ++p.misses_in_a_row;
  p.last_miss = step;
  // Late once is a hiccup of the partner; the second time in a row is a habit.
  if (!lost && p.misses_in_a_row < 2) return;
  p.pauses = std::min(p.pauses + 1, 4);
  p.pause_until = now + deadline_ * (1 << p.pauses);
}

}  // namespace gg
