// SPDX-License-Identifier: Apache-2.0
//
// Which partners are worth waiting for, and how long. A lost partner, and one that was late twice in
// a row without a sign of life in between, is not waited for during a pause that doubles from two
// deadlines to sixteen; its messages are still taken when they are there in time. Any sign of life,
// late ones too, ends the pause. A partner whose last exchange was missed is waited for half as
// long: what one loses by waiting for it is then within what the others wait for oneself.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_PEER_HEALTH_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_PEER_HEALTH_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"

namespace gg {

class PeerHealth {
 public:
  PeerHealth(int size, absl::Duration deadline) : deadline_(deadline), peers_(size) {}

  // False while the partner's pause lasts.
  bool WorthWaiting(Rank peer, absl::Time now) const { return now >= peers_[peer].pause_until; }

  // The longest wait for the partner that makes sense.
  absl::Duration Patience(Rank peer, absl::Time now) const;

  // A message of the partner was there in time.
  void Heard(Rank peer) { peers_[peer] = Peer(); }
  // The partner is alive, though its exchanges may be late.
  void Alive(Rank peer);
  // The exchange of `step` with the partner failed; told once or more often per step, counted once.
  // `lost`: the transport says that the partner is gone. Does not lengthen a pause that lasts.
  void Missed(Rank peer, uint64_t step, bool lost, absl::Time now);

 private:
  struct Peer {
    bool missed = false;      // its last exchange
    int misses_in_a_row = 0;  // without a sign of life
    int pauses = 0;
    uint64_t last_miss = ~uint64_t{0};
    absl::Time pause_until = absl::InfinitePast();
  };
  const absl::Duration deadline_;
  std::vector<Peer> peers_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_PEER_HEALTH_H_
