// SPDX-License-Identifier: Apache-2.0
//
// A virtual clock for a whole cluster in one process. Each worker is a thread, but only the one
// that holds the baton runs; Clock::Await hands the baton back. The kernel then asks the predicates
// in rank order, and when nobody can go on it moves time to the next event or deadline. So a run is
// the same at every repetition, takes no real time to wait, and a deadlock is found instead of
// hanging the test.
//
// Thread-safety: every call comes from the holder of the baton: a worker inside its body, an event,
// or the test while Run is not running.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_SIM_CLOCK_H_
#define GOSSIPGRAD_TESTS_SUPPORT_SIM_CLOCK_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "core/clock.h"

namespace gg {

class SimClock final : public Clock {
 public:
  // A run that lasts longer than `limit` of virtual time ends with an error.
  explicit SimClock(absl::Duration limit = absl::Hours(1)) : limit_(limit) {}

  absl::Time Now() override { return now_; }
  absl::Duration elapsed() const { return now_ - absl::UnixEpoch(); }
  bool Await(Monitor& monitor, absl::FunctionRef<bool()> ready, absl::Time deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor.mu);

  // Lets virtual time pass for the calling worker.
  void Compute(absl::Duration duration);
  // Runs `event` at now + delay, events of one time in the order in which they were asked for.
  void After(absl::Duration delay, absl::AnyInvocable<void()> event);

  // Runs all bodies to their end, then the events still due. kDeadlineExceeded: the limit was
  // passed; kInternal: a deadlock, everybody waits without a deadline. Waits that are open then
  // return, so that the bodies end.
  absl::Status Run(std::vector<std::function<void()>> bodies);

 private:
  static constexpr int kKernel = -1;
  struct Worker {
    std::thread thread;
    // Its own, so that handing the baton on wakes one thread and not all of a large cluster.
    std::unique_ptr<CondVar> turn = std::make_unique<CondVar>();
    bool done = false;
    bool waiting = false;  // in Await with the three below
    Monitor* monitor = nullptr;
    const absl::FunctionRef<bool()>* ready = nullptr;
    absl::Time deadline;
  };

  void Hand(int to);          // gives the baton away
  void AwaitBaton(int self);  // until it is ours
  bool CanRun(Worker& worker);
  bool RunWorkers();  // all that can run, once each; false when none could
  bool AllDone() const;
  absl::Status Advance();

  const absl::Duration limit_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<std::pair<absl::Time, uint64_t>, absl::AnyInvocable<void()>> events_;
  uint64_t next_event_ = 0;
  std::vector<Worker> workers_;
  int running_ = kKernel;
  bool over_ = false;  // after an error: nobody waits any more

  Mutex mu_;
  CondVar kernel_turn_;
  int baton_ ABSL_GUARDED_BY(mu_) = kKernel;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_SIM_CLOCK_H_
