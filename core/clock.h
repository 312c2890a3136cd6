// SPDX-License-Identifier: Apache-2.0
//
// Time and waiting as one seam. Everything that waits in a worker waits through Clock::Await, so that the
// simulation (tests/sim) can run a whole cluster on a virtual clock, one worker at a time, in the same order
// at every run. Deadlines are absolute and handed down; nobody sleeps.
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_CORE_CLOCK_H_
#define GOSSIPGRAD_CORE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/sync.h"

namespace gg {

// Something that threads wait on: a mutex that guards state and a condition variable that tells of its changes.
// Whoever changes the state holds `mu` and calls `changed.NotifyAll()`.
struct Monitor {
  Mutex mu;
  CondVar changed;
};

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic: never goes back, whatever happens to the wall clock. Starts near the wall clock's time, so that
  // differences are exact and the value itself reads well in a log.
  virtual absl::Time Now() = 0;

  // Waits with `monitor.mu` held on entry and exit until `ready()` (called with the mutex held, cheap, no side
  // effects) is true, or `deadline` has passed. Returns the last value of ready().
  virtual bool Await(Monitor& monitor, absl::FunctionRef<bool()> ready, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor.mu) = 0;
};

// The process's real clock. Never destroyed.
Clock& RealClock();

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_CLOCK_H_
