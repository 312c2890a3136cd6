// SPDX-License-Identifier: Apache-2.0
//
// The message buffers of every exchange unit and what is known about them: one receive buffer, and
// send buffers that are taken from a list, so that a peer that takes nothing holds none that
// another peer's message needs. A unit has two send buffers, of which the latest keeps its snapshot
// for one step more, and gets another one only when all are held: at most
// 2 + kHeldPerPeer x (peers that have ever held one at the same time), which is 2 p for p workers.
// They are used again, so that a run in which the transport keeps up allocates nothing.
//
// Messages travel in `format` (worker/wire). What was sent is afterwards what the partner decodes, so
// that a difference to it is the same on both sides; in fp32 nothing changes.
//
// Large messages are paced: a worker that is a round ahead would otherwise share its partner's link with the message of
// the round before, which somebody else still sends there and which the partner waits for; from four workers on such steps
// took twice as long (docs/benchmarks/shaped.md). So a message is held here until its receiver has told, by an empty message
// with the tag {kExchange, round, kAdmission}, that nothing of earlier rounds is under way to it, or until the sender is so
// many rounds further that the receiver must have left the round out. Nobody waits for that: held messages leave from the transport's threads.
//
// Buffers are lent to the transport; they and this object live until the last Done has run, hence
// shared ownership.
//
// Thread-safety: the calls are for one thread (the training thread), except Abort. Callbacks of the
// transport come from any thread and only flag completion.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_INFLIGHT_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_INFLIGHT_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "kernels/device.h"
#include "worker/transport/transport.h"
#include "worker/wire/float_link.h"

namespace gg {

class Inflight : public std::enable_shared_from_this<Inflight> {
 public:
  // `floats[u]` is the size of unit u's message. `device`, `group` and `clock` must outlive the
  // use of the result, not its life.
  static absl::StatusOr<std::shared_ptr<Inflight>> Create(Device& device, PeerGroup& group,
                                                          Clock& clock,
                                                          const std::vector<size_t>& floats,
                                                          WireFormat format = {});

  // The messages of a round are paced where they have so many bytes together: below, a link is shared for too short a time
  // to be worth a message.
  static constexpr size_t kPacedFrom = 16 << 10;
  // The block of an admission's tag: beyond every unit.
  static constexpr uint32_t kAdmission = uint32_t{1} << 31;
  // `round` begins, in which messages come `from` (if it is not -1) and go `to`. For several partners, once each. Rounds
  // only grow.
  void Meet(uint64_t round, Rank from, Rank to);
  // Rounds that workers may be apart while nothing is left out: after ceil(log2 p) each has waited for what all the others
  // had sent. 0 where messages are not paced. What is older is over.
  uint64_t apart() const { return apart_; }
  // Nothing of rounds below `round` is held any more.
  void ReleaseHeld(uint64_t round);
  // Waits until nothing is held, and holds nothing after `deadline`.
  void Flush(absl::Time deadline);

  // Expects the message of (unit, step), in place of one of another step that was never awaited.
  // False while a receive that was given up still holds the buffer.
  bool PostRecv(int unit, uint64_t step, Rank from);

  // Waits for the message that PostRecv expects. OK: it is whole in Received() until the next
  // PostRecv. kDeadlineExceeded: it was not there in time and is given up. Else the transport's
  // error, or the status given to Abort.
  absl::Status Await(int unit, uint64_t step, absl::Time deadline);
  Flat Received(int unit);

  // Messages of one unit to one peer that may be under way at the same time.
  static constexpr int kHeldPerPeer = 2;
  // How many there are.
  int HeldBy(Rank peer, int unit);
  // The send buffer for the unit's message of `step` to `to`, to be filled before Send. Empty when
  // the peer holds kHeldPerPeer messages still at `deadline`, or after Abort. With `to` -1 it is a
  // snapshot that stays here, and Send must not follow. An error is that of
  // the device, out of memory.
  absl::StatusOr<Flat> Outgoing(int unit, uint64_t step, Rank to, absl::Time deadline);
  // What Outgoing of (unit, step) gave.
  void Send(int unit, uint64_t step, Rank to);
  // What was sent at `step`, as the partner decodes it, unchanged until the second Outgoing of the unit after that.
  Flat Sent(int unit, uint64_t step);
  // Of the unit's message.
  size_t WireBytes(int unit) const { return link_->WireBytes(units_[unit].floats); }
  size_t SendBuffers(int unit) const { return units_[unit].send.size(); }

  struct SendFailure {
    Rank to;
    uint64_t step;
    absl::Status status;
  };
  // The sends that have failed since the last call.
  std::vector<SendFailure> TakeSendFailures();

  // From any thread. The first status stays.
  void Abort(absl::Status why);
  absl::Status aborted();

 private:
  enum class RecvState { kIdle, kPosted, kAbandoned, kDone };
  struct RecvSlot {
    std::unique_ptr<Buffer> buffer;
    RecvState state = RecvState::kIdle;
    uint64_t step = 0;
    Rank from = -1;
    absl::Status result;
  };
  struct SendSlot {
    std::unique_ptr<Buffer> buffer;
    uint64_t step = 0;
    Rank holder = -1;  // whom a Send under way goes to; -1: the buffer is free
  };
  struct Held {
    int unit;
    size_t slot;
    Flat values;
    uint64_t round;
    Rank to;
  };
  struct Admission {
    uint64_t round;
    Rank from;
  };
  struct Unit {
    size_t floats = 0;
    RecvSlot recv;
    std::vector<SendSlot> send;
    size_t latest = 0;  // in `send`: what Outgoing gave last
  };

  Inflight(Device& device, std::shared_ptr<FloatLink> link, Clock& clock, size_t peers)
      : device_(device), link_(std::move(link)), clock_(clock), open_until_(peers, 0) {}
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(size_t floats);
  int HeldLocked(Rank peer, int unit) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  SendSlot& SlotOf(int unit, uint64_t step);
  // Takes the buffer back from the receive that holds it.
  void GiveUp(int unit);
  // Sends what is due of admissions_.
  void Admit();
  // `to` may be sent what belongs to rounds up to `round`.
  void OnAdmitted(Rank to, uint64_t round);
  void SendNow(std::vector<Held> messages);
  std::vector<Held> TakeHeldLocked(absl::FunctionRef<bool(const Held&)> which)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  void OnReceived(int unit, absl::Status status);
  void OnSent(int unit, size_t slot, absl::Status status);

  Device& device_;
  const std::shared_ptr<FloatLink> link_;
  Clock& clock_;
  Monitor monitor_;
  std::vector<Unit> units_;  // states guarded by monitor_.mu; buffers belong to whom the state says
  std::vector<SendFailure> failures_ ABSL_GUARDED_BY(monitor_.mu);
  uint64_t apart_ = 0;
  std::vector<uint64_t> open_until_
      ABSL_GUARDED_BY(monitor_.mu);  // by rank: 1 + the last round it has admitted
  std::vector<Held> held_ ABSL_GUARDED_BY(monitor_.mu);
  std::vector<Admission> admissions_ ABSL_GUARDED_BY(monitor_.mu);  // not sent yet
  absl::Status aborted_ ABSL_GUARDED_BY(monitor_.mu);
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_INFLIGHT_H_
