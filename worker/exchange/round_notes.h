// SPDX-License-Identifier: Apache-2.0
//
// How workers that have lost step find each other again. A worker that missed its partner asks it
// where it is; the question carries the asker's own round. Any note is a sign of life, and a worker
// that learns of a later round than its own goes on from there (gossip_grad.h). Nothing is sent
// while no exchange is missed.
//
// The n-th note from one worker to another has the tag {kExchange, kFirst + n, 0}: beyond every
// training step, so that it never expires. One note per peer is under way at most; kWindow are
// expected, so that up to kWindow - 1 that a broken connection swallowed cut nobody off. Memory:
// (kWindow + 1) x 16 bytes per peer.
//
// Thread-safety: the calls are for the training thread; callbacks of the transport only flag
// completion. Lives until the last Done has run, hence shared ownership.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_ROUND_NOTES_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_ROUND_NOTES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/ids.h"
#include "core/sync.h"
#include "worker/transport/transport.h"

namespace gg {

struct RoundNote {
  Rank from = -1;
  uint64_t round = 0;  // of the sender
  bool question = false;
};

class RoundNotes : public std::enable_shared_from_this<RoundNotes> {
 public:
  static constexpr uint64_t kFirst = uint64_t{1} << 62;
  static constexpr int kWindow = 4;

  // `group` must outlive the use of the result, not its life.
  static std::shared_ptr<RoundNotes> Create(PeerGroup& group, int size) {
    return std::shared_ptr<RoundNotes>(new RoundNotes(group, size));
  }

  // Left out while the peer has not taken the last one.
  void Tell(Rank to, uint64_t round, bool question);
  // What has come since the last call, and expects more.
  std::vector<RoundNote> Take();
  // The peer was heard of: notes are expected from it again if its connection had broken.
  void Reopen(Rank peer);

 private:
  using Words = std::array<uint64_t, 2>;               // round, question
  enum class State { kFree, kAgain, kPosted, kDone };  // kAgain: the same number once more
  struct Arrival {
    State state = State::kFree;
    uint64_t number = 0;
    Words words{};
    absl::Status status;
  };
  struct Peer {
    bool open = true;
    uint64_t next_expected = 0;
    std::array<Arrival, kWindow> arrivals;
    bool sending = false;
    uint64_t next_sent = 0;
    Words outgoing{};
  };

  RoundNotes(PeerGroup& group, int size) : group_(group), peers_(size) {}
  void Post(Rank from);
  static Tag TagOf(uint64_t number) { return {Channel::kExchange, kFirst + number, 0}; }

  PeerGroup& group_;
  Mutex mu_;
  std::vector<Peer> peers_;  // states guarded by mu_; words belong to whom the state says
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_ROUND_NOTES_H_
