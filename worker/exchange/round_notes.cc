// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/round_notes.h"

#include <algorithm>
#include <utility>

namespace gg {

void RoundNotes::Tell(Rank to, uint64_t round, bool question) {
  Peer& peer = peers_[to];
  uint64_t number = 0;
  {
    MutexLock lock(&mu_);
    if (peer.sending) return;
    peer.sending = true;
    number = peer.next_sent;
  }
  peer.outgoing = {round, question ? uint64_t{1} : uint64_t{0}};
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(peer.outgoing.data()), sizeof(Words));
  group_.Send(to, TagOf(number), bytes, [self = shared_from_this(), to](absl::Status status) {
    MutexLock lock(&self->mu_);
    self->peers_[to].sending = false;
    if (status.ok()) ++self->peers_[to].next_sent;
  });
}

std::vector<RoundNote> RoundNotes::Take() {
  std::vector<RoundNote> notes;
  for (Rank from = 0; from < static_cast<Rank>(peers_.size()); ++from) {
    if (from == group_.self()) continue;
    Peer& peer = peers_[from];
    std::vector<uint64_t> swallowed;
    {
      MutexLock lock(&mu_);
      uint64_t latest = 0;
      for (Arrival& arrival : peer.arrivals) {
        if (arrival.state != State::kDone) continue;
        arrival.state = State::kFree;
        if (arrival.status.ok()) {
          // No worker gets that far: it would be taken for the number of a note.
          const bool sane = arrival.words[0] < kFirst;
          if (sane) notes.push_back({from, arrival.words[0], arrival.words[1] != 0});
          latest = std::max(latest, arrival.number);
        } else if (absl::IsUnavailable(arrival.status)) {
          peer.open = false;
          arrival.state = State::kAgain;
        }
      }
      // Notes keep their order: what an arrival has overtaken will not come.
      for (const Arrival& arrival : peer.arrivals) {
        if (arrival.state == State::kPosted && arrival.number < latest) {
          swallowed.push_back(arrival.number);
        }
      }
    }
    for (const uint64_t number : swallowed) group_.CancelRecv(from, TagOf(number));
    Post(from);
  }
  return notes;
}

void RoundNotes::Reopen(Rank peer) {
  MutexLock lock(&mu_);
  peers_[peer].open = true;
}

void RoundNotes::Post(Rank from) {
  Peer& peer = peers_[from];
  for (int i = 0; i < kWindow; ++i) {
    Arrival& arrival = peer.arrivals[i];
    {
      MutexLock lock(&mu_);
      if (!peer.open || arrival.state == State::kPosted || arrival.state == State::kDone) continue;
      if (arrival.state == State::kFree) arrival.number = peer.next_expected++;
      arrival.state = State::kPosted;
    }
    const Bytes bytes(reinterpret_cast<uint8_t*>(arrival.words.data()), sizeof(Words));
    group_.Recv(from, TagOf(arrival.number), bytes,
                [self = shared_from_this(), from, i](absl::Status status) {
                  MutexLock lock(&self->mu_);
                  Arrival& done = self->peers_[from].arrivals[i];
                  done.status = std::move(status);
                  done.state = State::kDone;
                });
  }
}

}  // namespace gg
