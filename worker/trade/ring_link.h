// SPDX-License-Identifier: Apache-2.0
//
// Exactly-once delivery of one worker's trades: to its left neighbour, and from its right one. What
// is sent is kept until the left neighbour says that it has arrived; what comes damaged is asked
// for again at once, what is late when the owner asks. Requests and acknowledgements are answered
// on the transport's thread, whatever the training thread does, for as long as the link is open.
//
// Messages, all on channel kTrade:
//   samples  step = trade, block = attempt (0, then as asked for): from each worker to its left
//   notes    (note_line.h) to the right: {every trade below this one has arrived, trade asked for
//            again, as which attempt; 0 = none is}; to the left: "what has arrived?"
// The receiver listens to one attempt at a time, so a repetition that crosses its original is
// dropped by the transport: no trade is taken twice. Two peers cannot both know that a last
// acknowledgement has arrived; it is not needed: the receiver has the samples by then.
//
// Thread-safety: thread-safe; what says so needs monitor().mu. Owned by shared pointers: memory
// lent to the transport lives until its last Done.
#ifndef GOSSIPGRAD_WORKER_TRADE_RING_LINK_H_
#define GOSSIPGRAD_WORKER_TRADE_RING_LINK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "worker/trade/note_line.h"
#include "worker/transport/transport.h"

namespace gg {

class RingLink : public std::enable_shared_from_this<RingLink> {
 public:
  using Message = std::vector<uint8_t>;

  // All messages have `message_bytes` bytes. `group` must stay until Close().
  static std::shared_ptr<RingLink> Open(PeerGroup& group, Rank left, Rank right,
                                        size_t message_bytes);

  // A free buffer, to be filled for Begin.
  std::shared_ptr<Message> Buffer();
  // The next trade (they are numbered from 0): sends `outgoing`, expects the right neighbour's.
  void Begin(std::shared_ptr<Message> outgoing, absl::Time due);
  // What has arrived as `trade`; the link forgets it. Only after arrived(trade).
  std::shared_ptr<const Message> Take(uint64_t trade);

  // Asks the right neighbour for `trade` again, where it has not arrived.
  void AskAgain(uint64_t trade);
  // Asks the left neighbour what has arrived.
  void AskWhatArrived();
  // Ends everything but the memory on loan. Before the group goes.
  void Close();

  // Notified of every change of what follows.
  Monitor& monitor() { return monitor_; }
  Mutex& mu() ABSL_LOCK_RETURNED(monitor_.mu) { return monitor_.mu; }
  bool arrived(uint64_t trade) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  // Trades that the left neighbour has not acknowledged, and when the first of them was due.
  size_t unacknowledged() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
    return outgoing_.size();
  }
  absl::Time unacknowledged_due() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
    return outgoing_.empty() ? absl::InfinitePast() : outgoing_.front().due;
  }
  // Why no more can be sent to the left, or received from the right; the first reason stays.
  const absl::Status& left_failure() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
    return left_failure_;
  }
  const absl::Status& right_failure() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
    return right_failure_;
  }
  uint64_t damaged() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return damaged_; }
  uint64_t repeated() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return repeated_; }

 private:
  struct Outgoing {
    uint64_t trade;
    std::shared_ptr<Message> message;
    uint32_t attempt;  // the latest sent
    absl::Time due;
  };
  enum class State { kExpected, kGivenUp, kIdle, kArrived };
  struct Incoming {
    uint64_t trade;
    std::shared_ptr<Message> message;
    uint32_t attempt = 0;  // the one that is listened to
    State state = State::kExpected;
  };

  RingLink(PeerGroup& group, Rank left, Rank right, size_t message_bytes)
      : group_(group), left_(left), right_(right), message_bytes_(message_bytes) {}

  void Send(uint64_t trade, uint32_t attempt, std::shared_ptr<Message> message);
  void Receive(uint64_t trade, uint32_t attempt, std::shared_ptr<Message> message);
  void OnSamples(uint64_t trade, const absl::Status& status);
  void OnArrived(uint64_t trade);
  void OnSent(const absl::Status& status);
  void OnNoteFromLeft(const NoteLine::Note& note);
  void TellRight(uint64_t trade, uint32_t attempt);
  Incoming* Find(uint64_t trade) ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  static void Fail(absl::Status& failure, const absl::Status& why);

  PeerGroup& group_;
  const Rank left_, right_;
  const size_t message_bytes_;
  std::shared_ptr<NoteLine> left_notes_, right_notes_;

  mutable Monitor monitor_;
  uint64_t begun_ ABSL_GUARDED_BY(monitor_.mu) = 0;
  uint64_t arrived_below_ ABSL_GUARDED_BY(monitor_.mu) = 0;
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(monitor_.mu);  // unacknowledged, in order
  std::deque<Incoming> incoming_ ABSL_GUARDED_BY(monitor_.mu);  // not taken, in order
  // Attempts asked for of trades that have not begun here.
  std::map<uint64_t, uint32_t> early_ ABSL_GUARDED_BY(monitor_.mu);
  std::vector<std::shared_ptr<Message>> buffers_ ABSL_GUARDED_BY(monitor_.mu);
  absl::Status left_failure_ ABSL_GUARDED_BY(monitor_.mu);
  absl::Status right_failure_ ABSL_GUARDED_BY(monitor_.mu);
  uint64_t damaged_ ABSL_GUARDED_BY(monitor_.mu) = 0;
  uint64_t repeated_ ABSL_GUARDED_BY(monitor_.mu) = 0;
  bool closed_ ABSL_GUARDED_BY(monitor_.mu) = false;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRADE_RING_LINK_H_
