// SPDX-License-Identifier: Apache-2.0
//
// The one thread of a transport. Everything a transport knows is touched on this thread only, so it
// needs no locks; calls from outside become tasks. A derived class says how the thread sleeps: on a
// condition variable (LocalLoop) or in the wait of the system that brings the bytes
// (worker/transport/grpc).
//
// Thread-safety: Post, RunSync and OnLoopThread from any thread; After and
// CancelTimer on the loop's thread.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_LOOP_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_LOOP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/clock.h"

namespace gg {

class Loop {
 public:
  using Task = absl::AnyInvocable<void()>;
  using TimerId = std::pair<absl::Time, uint64_t>;

  explicit Loop(Clock& clock) : clock_(clock) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;  // the derived class has called Stop()

  // Tasks run in the order in which they were posted, each once, never inside Post.
  void Post(Task task);
  // Runs `task` on the loop's thread and returns when it is done; at once when this is that thread.
  void RunSync(absl::FunctionRef<void()> task);
  bool OnLoopThread() const { return std::this_thread::get_id() == thread_.get_id(); }

  // Runs `task` once, `delay` from now, unless it is cancelled before. Cancelling one that ran does
  // nothing.
  TimerId After(absl::Duration delay, Task task);
  void CancelTimer(TimerId id) { timers_.erase(id); }
  absl::Time Now() { return clock_.Now(); }

 protected:
  void Start();
  // Runs everything that was posted, drops the timers and ends the thread.
  void Stop();

  // Sleeps until Wake() was called since the last Wait, or `deadline`, or something of the derived
  // class's own happened, which it handles before it returns.
  virtual void Wait(absl::Time deadline) = 0;
  virtual void Wake() = 0;  // any thread
  // For Wait: the thread is about to handle something, and looks at the tasks after it. A Post need
  // not Wake any more.
  void SetAwake();

  Clock& clock_;

 private:
  void Run();
  void RunDueTimers();

  Mutex mu_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool sleeping_ ABSL_GUARDED_BY(mu_) = false;  // a Post must Wake
  std::map<TimerId, Task> timers_;
  uint64_t next_timer_ = 0;
  std::thread thread_;
};

// A loop that has nothing to wait for but tasks and timers.
class LocalLoop final : public Loop {
 public:
  explicit LocalLoop(Clock& clock) : Loop(clock) { Start(); }
  ~LocalLoop() override { Stop(); }

 private:
  void Wait(absl::Time deadline) override;
  void Wake() override;

  Monitor monitor_;
  bool woken_ ABSL_GUARDED_BY(monitor_.mu) = false;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_LOOP_H_
