// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/loop.h"

namespace gg {

void Loop::Post(Task task) {
  bool wake;
  {
    MutexLock lock(&mu_);
    tasks_.push_back(std::move(task));
    wake = sleeping_;
    sleeping_ = false;  // one Wake per sleep is enough
  }
  if (wake) Wake();
}

void Loop::RunSync(absl::FunctionRef<void()> task) {
  if (OnLoopThread()) return task();
  // Shared: the loop's thread may still be inside NotifyAll when this one has seen `done` and left.
  struct Ticket {
    Monitor monitor;
    bool done = false;
  };
  auto ticket = std::make_shared<Ticket>();
  Post([task, ticket] {
    task();
    MutexLock lock(&ticket->monitor.mu);
    ticket->done = true;
    ticket->monitor.changed.NotifyAll();
  });
  MutexLock lock(&ticket->monitor.mu);
  clock_.Await(
      ticket->monitor, [&] { return ticket->done; }, absl::InfiniteFuture());
}

Loop::TimerId Loop::After(absl::Duration delay, Task task) {
  const TimerId id(clock_.Now() + delay, next_timer_++);
  timers_.emplace(id, std::move(task));
  return id;
}

void Loop::Start() {
  // The thread's first task can run before `thread_` is assigned: hold it back until it is.
  MutexLock lock(&mu_);
  thread_ = std::thread([this] {
    { MutexLock started(&mu_); }
    Run();
  });
}

void Loop::Stop() {
  Post([this] {
    MutexLock lock(&mu_);
    stopping_ = true;
  });
  thread_.join();
  timers_.clear();
}

void Loop::Run() {
  std::vector<Task> batch;
  for (;;) {
    bool idle;
    {
      MutexLock lock(&mu_);
      batch.swap(tasks_);
      if (batch.empty() && stopping_) return;
      idle = batch.empty();
      sleeping_ = idle;
    }
    for (Task& task : batch) {
      task();
      task = nullptr;  // what it holds goes before the next task runs
    }
    batch.clear();
    RunDueTimers();
    if (!idle) continue;
    Wait(timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.first);
    SetAwake();
  }
}

void Loop::SetAwake() {
  MutexLock lock(&mu_);
  sleeping_ = false;
}

void Loop::RunDueTimers() {
  if (timers_.empty()) return;
  const absl::Time now = clock_.Now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    timers_.extract(timers_.begin()).mapped()();
  }
}

void LocalLoop::Wait(absl::Time deadline) {
  MutexLock lock(&monitor_.mu);
  clock_.Await(
      monitor_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return woken_; }, deadline);
  woken_ = false;
}

void LocalLoop::Wake() {
  MutexLock lock(&monitor_.mu);
  woken_ = true;
  monitor_.changed.NotifyAll();
}

}  // namespace gg
