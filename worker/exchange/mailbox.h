// SPDX-License-Identifier: Apache-2.0
//
// Pushes: messages that nobody waits for. A push is a note of a few words, which the receiver always
// expects, and a body of floats, for which a receive is posted as soon as the note is there. The sender
// never blocks and is refused instead: at most kHeldPerPeer bodies per peer and a bounded pool in
// all. The receiver holds at most kHeldPerPeer bodies of a peer and a bounded pool in all; what
// comes beyond that waits in the transport, or with its sender, and is not lost.
//
// Tags: the n-th note to a peer is {kExchange, RoundNotes::kFirst + n, 1}, its k-th body {kExchange,
// RoundNotes::kFirst + k, 2}: beyond every training step, so that they never expire. A note that
// could not be sent gives its number to the next one; bodies are numbered once. On the channel to a
// peer a body follows its note, and only then comes the next note. kWindow notes are expected, so
// that up to kWindow - 1 that a broken connection swallowed cut nobody off; what kHeldPerPeer later
// notes have overtaken is given up. After a loss the peer is expected again as soon as the
// transport lets us, and once more with the last number, which it may not know to have arrived.
//
// What is sent can be lost without anybody being told (the transport's Done(OK) means that memory
// is free); a failed send is reported, so that a method can take back what the body carried. Rarely
// such a body has arrived all the same.
//
// Thread-safety: the calls are for the training thread, except Abort. Buffers are lent to the
// transport; they and this object live until the last Done has run, hence shared ownership.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_MAILBOX_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_MAILBOX_H_

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "kernels/device.h"
#include "worker/transport/transport.h"
#include "worker/wire/float_link.h"

namespace gg {

struct PushNote {
  uint64_t kind = 0;    // of the method
  uint64_t step = 0;    // of the sender
  uint64_t number = 0;  // of the method: what an answer answers, how many there were
  double weight = 0;
};

class Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  static constexpr int kHeldPerPeer = 2;
  static constexpr int kWindow = 4;
  static constexpr int kQueuedPerPeer = 8;  // pushes without a body included

  // Bodies hold up to `max_floats`; `pool` bounds the buffers of each direction (0: 2 per peer).
  // `device`, `group` and `clock` must outlive the use of the result, not its life.
  // Bodies travel in `format`.
  static std::shared_ptr<Mailbox> Create(Device& device, PeerGroup& group, Clock& clock, int size,
                                         size_t max_floats, int pool = 0, WireFormat format = {});

  // Memory for a body to `to`, of max_floats, to be filled and given to Push. Empty when the peer
  // or all together hold as many as they may. An error is that of the device, out of memory.
  absl::StatusOr<Flat> Outgoing(Rank to);
  // What the last Outgoing(to) gave becomes what `to` will decode of it, its first `floats`: for
  // methods in which both ends must count with the same.
  void Round(Rank to, size_t floats);
  size_t WireBytes(size_t floats) const { return link_->WireBytes(floats); }
  // fp32: bodies arrive as they are, and Round changes nothing.
  bool exact() const { return link_->exact(); }
  // Sends what the last Outgoing(to) gave, its first `floats`.
  void Push(Rank to, const PushNote& note, size_t floats);
  // Sends the note alone. False when too many wait for the peer already.
  bool Push(Rank to, const PushNote& note);

  struct Arrival {
    Rank from = -1;
    PushNote note;
    Flat body;            // until Release
    absl::Status status;  // not OK: the body did not come (lost, damaged, larger than max_floats)
    const void* handle = nullptr;
  };
  // What has come since the last call, and expects more. Those of one peer are in order, except
  // that a note alone may overtake bodies: a body waits for the one before it, until that has come
  // or is given up.
  std::vector<Arrival> Take();
  // The body is not read any more. Every arrival of Take must be released.
  void Release(const Arrival& arrival);

  struct Failure {
    Rank to = -1;
    PushNote note;
    size_t floats = 0;
    absl::Status status;
    std::unique_ptr<Buffer> body;  // what it carried; null: a note alone
  };
  // The pushes that have failed since the last call.
  std::vector<Failure> TakeFailures();

  // Pushes whose memory or note is not free yet.
  int UnderWay();
  int UnderWay(Rank to);
  // False from the loss of the peer until it is connected again.
  bool Reachable(Rank peer);

  // Waits until there is news since the last Take: an arrival, the end or the failure of a push, the
  // loss of a peer. kDeadlineExceeded: there was none; or the status given to Abort.
  absl::Status Await(absl::Time deadline);
  // From any thread. The first status stays.
  void Abort(absl::Status why);
  absl::Status aborted();

 private:
  using Words = std::array<uint64_t, 6>;  // kind, step, number, weight, floats, body number
  struct Outbound {
    PushNote note;
    size_t floats = 0;
    uint64_t body_number = 0;
    Words words{};
    std::unique_ptr<Buffer> buffer;  // null: a note alone
  };
  enum class State { kFree, kPosted, kEnded };  // kEnded: without a note
  struct NoteSlot {
    State state = State::kFree;
    uint64_t number = 0;
    Words words{};
    absl::Status status;
  };
  struct Inbound {
    Rank from = -1;
    PushNote note;
    size_t floats = 0;
    uint64_t number = 0;  // of the last note when its receive was posted, of its own before
    uint64_t body_number = 0;
    bool posted = false, done = false, taken = false;
    std::unique_ptr<Buffer> buffer;
    absl::Status status;
  };
  struct Peer {
    // Sending.
    bool announcing = false;  // a note is under way
    uint64_t next_note = 0, next_body = 0;
    int bodies = 0;  // lent, or given by Outgoing
    std::deque<std::shared_ptr<Outbound>> queue;
    std::unique_ptr<Buffer> offered;  // by Outgoing
    // Receiving.
    bool lost = false;
    bool rewind = false;  // the window is to begin anew
    uint64_t next_expected = 0;
    uint64_t latest = 0;  // 1 + number of the last note that came
    std::array<NoteSlot, kWindow> slots;
  };

  Mailbox(Device& device, PeerGroup& group, Clock& clock, int size, size_t max_floats, int pool,
          WireFormat format);
  static Tag NoteTag(uint64_t number);
  static Tag BodyTag(uint64_t number);
  static Flat BodyOf(Buffer& buffer, size_t floats);

  void Announce(Rank to);
  void OnAnnounced(Rank to, const std::shared_ptr<Outbound>& push, const absl::Status& status);
  void OnBodySent(Rank to, const std::shared_ptr<Outbound>& push, absl::Status status);
  void FailLocked(Rank to, Outbound& push, absl::Status status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  void FreeLocked(Rank to, Outbound& push) ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  std::unique_ptr<Buffer> TakeBodyLocked(Rank to, Outbound& push)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  bool EnqueueLocked(Rank to, std::shared_ptr<Outbound> push)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);

  void LookForLoss(Rank from);
  void OnNote(Rank from, int index, absl::Status status);
  void ReadNoteLocked(Rank from, const NoteSlot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  // Begins the window of a peer that was lost anew, with the last number once more: the peer may not
  // know that it came. False while receives of the old window are still to end.
  bool Rewound(Rank from);
  void Expect(Rank from);
  void CancelOvertaken(Rank from);
  void PostBodies();
  // Whether there is memory to receive one more body. Without, it is tried again at the next Take.
  bool AllocateSpare();

  Device& device_;
  PeerGroup& group_;
  const std::shared_ptr<FloatLink> link_;  // of the bodies
  Clock& clock_;
  const size_t max_floats_;
  const int pool_;
  Monitor monitor_;
  // States guarded by monitor_.mu; words and buffers belong to whom the state says.
  std::vector<Peer> peers_;
  int sending_ ABSL_GUARDED_BY(monitor_.mu) = 0;  // buffers out of free_outgoing_
  std::vector<std::unique_ptr<Buffer>> free_outgoing_ ABSL_GUARDED_BY(monitor_.mu);
  std::list<std::shared_ptr<Inbound>> inbound_ ABSL_GUARDED_BY(monitor_.mu);
  std::vector<std::unique_ptr<Buffer>> free_incoming_ ABSL_GUARDED_BY(monitor_.mu);
  int receiving_ ABSL_GUARDED_BY(monitor_.mu) = 0;  // buffers out of free_incoming_
  std::vector<Failure> failures_ ABSL_GUARDED_BY(monitor_.mu);
  bool news_ ABSL_GUARDED_BY(monitor_.mu) = false;
  absl::Status aborted_ ABSL_GUARDED_BY(monitor_.mu);
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_MAILBOX_H_
