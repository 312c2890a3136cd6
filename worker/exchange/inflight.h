// SPDX-License-Identifier: Apache-2.0
//
// The message buffers of every exchange unit and what is known about them: one receive buffer, and
// two send buffers used in turn by even and odd steps, so that a snapshot outlives its step.
// Buffers are lent to the transport; they and this object live until the last Done has run, hence
// shared ownership.
//
// Thread-safety: the calls are for one thread (the training thread), except Abort. Callbacks of the
// transport come from any thread and only flag completion.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_INFLIGHT_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_INFLIGHT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "kernels/device.h"
#include "worker/transport/transport.h"

namespace gg {

class Inflight : public std::enable_shared_from_this<Inflight> {
 public:
  // `floats[u]` is the size of unit u's message. `group` and `clock` must outlive the use of the
  // result, not its life.
  static absl::StatusOr<std::shared_ptr<Inflight>> Create(Device& device, PeerGroup& group,
                                                          Clock& clock,
                                                          const std::vector<size_t>& floats);

  // Expects the message of (unit, step), in place of one of another step that was never awaited.
  // False while a receive that was given up still holds the buffer.
  bool PostRecv(int unit, uint64_t step, Rank from);

  // Waits for the message that PostRecv expects. OK: it is whole in Received() until the next
  // PostRecv. kDeadlineExceeded: it was not there in time and is given up. Else the transport's
  // error, or the status given to Abort.
  absl::Status Await(int unit, uint64_t step, absl::Time deadline);
  Flat Received(int unit);

  // The send buffer of (unit, step) to be filled before Send, waited for until `deadline`; empty
  // while the Send of two steps before holds it, or after Abort.
  Flat Outgoing(int unit, uint64_t step, absl::Time deadline);
  // Whom the message that holds that buffer goes to; -1 when it is free.
  Rank Holder(int unit, uint64_t step);
  void Send(int unit, uint64_t step, Rank to);
  // What was sent at `step`, unchanged until Outgoing(unit, step + 2).
  Flat Sent(int unit, uint64_t step);

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
    Rank holder = -1;  // whom a Send under way goes to; -1: the buffer is free
  };
  struct Unit {
    size_t floats = 0;
    RecvSlot recv;
    std::array<SendSlot, 2> send;
  };

  Inflight(PeerGroup& group, Clock& clock) : group_(group), clock_(clock) {}
  // Takes the buffer back from the receive that holds it.
  void GiveUp(int unit);
  void OnReceived(int unit, absl::Status status);
  void OnSent(int unit, uint64_t step, Rank to, absl::Status status);

  PeerGroup& group_;
  Clock& clock_;
  Monitor monitor_;
  std::vector<Unit> units_;  // states guarded by monitor_.mu; buffers belong to whom the state says
  std::vector<SendFailure> failures_ ABSL_GUARDED_BY(monitor_.mu);
  absl::Status aborted_ ABSL_GUARDED_BY(monitor_.mu);
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_INFLIGHT_H_
