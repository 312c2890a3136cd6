// SPDX-License-Identifier: Apache-2.0
//
// Messages on their way to the coordinator. Putting one in never blocks, so the training thread may
// do it. While the connection is slow or away, a newer progress report replaces the one that waits,
// and beyond the bound incidents are given up first; nothing else is lost. Thread-safety:
// thread-safe.
#ifndef GOSSIPGRAD_WORKER_CONTROL_OUTBOX_H_
#define GOSSIPGRAD_WORKER_CONTROL_OUTBOX_H_

#include <deque>
#include <optional>

#include "absl/time/time.h"
#include "core/clock.h"
#include "gossipgrad/v1/worker_control.pb.h"

namespace gg {

class Outbox {
 public:
  explicit Outbox(Clock& clock, size_t bound = 256) : clock_(clock), bound_(bound) {}

  void Put(gossipgrad::v1::WorkerMessage message);

  // Puts back what could not be sent, in front of everything else.
  void PutBack(gossipgrad::v1::WorkerMessage message);

  // The next message; nothing when there is none by `deadline` or Interrupt() was called.
  std::optional<gossipgrad::v1::WorkerMessage> Take(absl::Time deadline);

  // Ends Take() early, now and until Resume().
  void Interrupt();
  void Resume();

  // Waits until everything was taken. False when `deadline` came first.
  bool WaitUntilEmpty(absl::Time deadline);

  size_t size() const;

 private:
  Clock& clock_;
  const size_t bound_;
  mutable Monitor monitor_;
  std::deque<gossipgrad::v1::WorkerMessage> messages_ ABSL_GUARDED_BY(monitor_.mu);
  bool interrupted_ ABSL_GUARDED_BY(monitor_.mu) = false;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_CONTROL_OUTBOX_H_
