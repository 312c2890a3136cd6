// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/ring_average.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

// The chunk of rank c: [n c / p, n (c + 1) / p), without overflow for any real n and p.
size_t ChunkBegin(size_t count, int size, int chunk) {
  return count / size * chunk + count % size * chunk / size;
}

int Modulo(int value, int size) {
  return (value % size + size) % size;
}

class Ring {
 public:
  Ring(PeerGroup& group, Clock& clock, uint64_t number, absl::Time deadline,
       std::shared_ptr<RingState> state)
      : group_(group),
        clock_(clock),
        number_(number),
        deadline_(deadline),
        state_(std::move(state)),
        size_(group.view().size()),
        self_(group.self()),
        left_(Modulo(self_ - 1, size_)),
        right_(Modulo(self_ + 1, size_)) {}

  RingOutcome Run() {
    // What a collective before this one left behind, having failed on some workers, must not be
    // taken for ours.
    group_.Expire(Channel::kCollective, number_);
    for (int k = 0; k + 1 < size_; ++k) {
      const Flat mine = Chunk(self_ - k - 1);
      const Flat arrived = state_->arrival->floats().subspan(0, mine.size());
      if (!Phase(k, Chunk(self_ - k), arrived)) return outcome_;
      for (size_t i = 0; i < mine.size(); ++i) mine[i] += arrived[i];
    }
    for (float& value : Chunk(self_ + 1)) value /= static_cast<float>(size_);
    for (int k = 0; k + 1 < size_; ++k) {
      if (!Phase(size_ - 1 + k, Chunk(self_ + 1 - k), Chunk(self_ - k))) return outcome_;
    }
    return outcome_;
  }

 private:
  Flat Chunk(int chunk) {
    chunk = Modulo(chunk, size_);
    const size_t begin = ChunkBegin(state_->count, size_, chunk);
    const size_t end = ChunkBegin(state_->count, size_, chunk + 1);
    return state_->values->floats().subspan(begin, end - begin);
  }

  static Bytes AsBytes(Flat floats) {
    return Bytes(reinterpret_cast<uint8_t*>(floats.data()), floats.size() * sizeof(float));
  }

  // Sends to the right while receiving from the left, and waits for both: the chunk that was sent
  // is written later.
  bool Phase(int phase, Flat outgoing, Flat incoming) {
    const Tag tag = {Channel::kCollective, number_, static_cast<uint32_t>(phase)};
    {
      MutexLock lock(&state_->monitor.mu);
      if (!state_->aborted.ok()) return Fail(state_->aborted, -1);
      state_->sending = state_->receiving = true;
    }
    group_.Recv(left_, tag, AsBytes(incoming), [state = state_](absl::Status status) {
      MutexLock lock(&state->monitor.mu);
      state->receiving = false;
      state->recv_status = std::move(status);
      state->monitor.changed.NotifyAll();
    });
    group_.Send(right_, tag, AsBytes(outgoing), [state = state_](absl::Status status) {
      MutexLock lock(&state->monitor.mu);
      state->sending = false;
      state->send_status = std::move(status);
      state->monitor.changed.NotifyAll();
    });
    ++outcome_.messages_sent;
    outcome_.bytes_sent += outgoing.size() * sizeof(float);
    if (!Finish(phase, tag)) return false;
    ++outcome_.messages_received;
    outcome_.bytes_received += incoming.size() * sizeof(float);
    return true;
  }

  bool Finish(int phase, Tag tag) {
    absl::Status aborted, received, sent;
    bool receiving, sending;
    {
      RingState& s = *state_;
      MutexLock lock(&s.monitor.mu);
      clock_.Await(
          s.monitor,
          [&s]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(s.monitor.mu) {
            return !s.aborted.ok() || !s.recv_status.ok() || !s.send_status.ok() ||
                   (!s.sending && !s.receiving);
          },
          deadline_);
      aborted = s.aborted, received = s.recv_status, sent = s.send_status;
      receiving = s.receiving, sending = s.sending;
    }
    if (aborted.ok() && received.ok() && sent.ok() && !receiving && !sending) return true;
    if (receiving) group_.CancelRecv(left_, tag);
    if (!aborted.ok()) return Fail(aborted, -1);
    const std::string where = absl::StrCat(" in phase ", phase + 1, " of ", 2 * (size_ - 1));
    if (!received.ok()) {
      return Fail(Gone(received.code(), absl::StrCat("receiving from ", Name(left_), where, ": ",
                                                     received.message())),
                  left_);
    }
    if (!sent.ok()) {
      return Fail(
          Gone(sent.code(), absl::StrCat("sending to ", Name(right_), where, ": ", sent.message())),
          right_);
    }
    if (!receiving) {
      return Fail(absl::DeadlineExceededError(
                      absl::StrCat(Name(right_), " had not taken its message", where)),
                  right_);
    }
    // While sums go round, everybody's phase k waits for phase k - 1 of its left neighbour:
    // counting back as many places as phases leads to the worker that never began.
    const bool reducing = phase + 1 < size_;
    const Rank missing = reducing ? Modulo(self_ - 1 - phase, size_) : left_;
    std::string text = absl::StrCat("nothing from ", Name(left_), where);
    if (missing != left_)
      absl::StrAppend(&text, "; counting back round the ring, ", Name(missing), " is missing");
    return Fail(absl::DeadlineExceededError(text), missing);
  }

  static absl::Status Gone(absl::StatusCode code, const std::string& text) {
    if (code == absl::StatusCode::kDeadlineExceeded) return absl::DeadlineExceededError(text);
    return absl::UnavailableError(text);
  }

  std::string Name(Rank rank) const {
    return absl::StrCat("rank ", rank, " (", group_.view().members[rank].worker_id, ")");
  }

  bool Fail(absl::Status status, Rank missing) {
    outcome_.status = std::move(status);
    outcome_.missing = missing;
    return false;
  }

  PeerGroup& group_;
  Clock& clock_;
  const uint64_t number_;
  const absl::Time deadline_;
  const std::shared_ptr<RingState> state_;
  const int size_;
  const Rank self_, left_, right_;
  RingOutcome outcome_;
};

}  // namespace

size_t RingScratchFloats(size_t count, int size) {
  return count / size + 1;
}

RingOutcome RingAverage(PeerGroup& group, Clock& clock, uint64_t number, absl::Time deadline,
                        const std::shared_ptr<RingState>& state) {
  return Ring(group, clock, number, deadline, state).Run();
}

}  // namespace gg
