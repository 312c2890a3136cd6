// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_clock.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"

namespace gg {

void SimClock::Hand(int to) {
  MutexLock lock(&mu_);
  baton_ = to;
  (to == kKernel ? kernel_turn_ : *workers_[static_cast<size_t>(to)].turn).NotifyAll();
}

void SimClock::AwaitBaton(int self) {
  MutexLock lock(&mu_);
  CondVar& turn = self == kKernel ? kernel_turn_ : *workers_[static_cast<size_t>(self)].turn;
  while (baton_ != self) turn.WaitFor(&mu_, std::chrono::seconds(1));
}

bool SimClock::Await(Monitor& monitor, absl::FunctionRef<bool()> ready, absl::Time deadline) {
  if (ready() || over_ || deadline <= now_) return ready();
  const int self = running_;
  Worker& worker = workers_[self];
  worker.waiting = true;
  worker.monitor = &monitor;
  worker.ready = &ready;
  worker.deadline = deadline;
  monitor.mu.Unlock();
  Hand(kKernel);
  AwaitBaton(self);
  monitor.mu.Lock();
  worker.waiting = false;
  return ready();
}

void SimClock::Compute(absl::Duration duration) {
  Monitor monitor;
  MutexLock lock(&monitor.mu);
  Await(
      monitor, [] { return false; }, now_ + duration);
}

void SimClock::After(absl::Duration delay, absl::AnyInvocable<void()> event) {
  events_.emplace(std::make_pair(now_ + delay, next_event_++), std::move(event));
}

bool SimClock::CanRun(Worker& worker) {
  if (worker.done) return false;
  if (!worker.waiting || over_ || worker.deadline <= now_) return true;
  MutexLock lock(&worker.monitor->mu);
  return (*worker.ready)();
}

bool SimClock::RunWorkers() {
  bool any = false;
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    if (!CanRun(workers_[i])) continue;
    any = true;
    running_ = i;
    Hand(i);
    AwaitBaton(kKernel);
    running_ = kKernel;
  }
  return any;
}

bool SimClock::AllDone() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.done; });
}

absl::Status SimClock::Advance() {
  absl::Time next = absl::InfiniteFuture();
  if (!events_.empty()) next = events_.begin()->first.first;
  for (const Worker& worker : workers_) {
    if (!worker.done) next = std::min(next, worker.deadline);
  }
  if (next == absl::InfiniteFuture()) {
    return absl::InternalError("deadlock: everybody waits, nothing is under way");
  }
  if (next - absl::UnixEpoch() > limit_) {
    return absl::DeadlineExceededError(
        absl::StrCat("the simulation is not over after ", absl::FormatDuration(limit_)));
  }
  now_ = next;
  while (!events_.empty() && events_.begin()->first.first <= now_) {
    events_.extract(events_.begin()).mapped()();
  }
  return absl::OkStatus();
}

absl::Status SimClock::Run(std::vector<std::function<void()>> bodies) {
  absl::Status status;
  over_ = false;
  workers_ = std::vector<Worker>(bodies.size());
  for (int i = 0; i < static_cast<int>(bodies.size()); ++i) {
    workers_[i].thread = std::thread([this, i, body = std::move(bodies[i])] {
      AwaitBaton(i);
      body();
      workers_[i].done = true;
      Hand(kKernel);
    });
  }
  while (!AllDone()) {
    if (RunWorkers()) continue;
    const absl::Status advanced = Advance();
    if (advanced.ok()) continue;
    status.Update(advanced);
    over_ = true;
  }
  for (Worker& worker : workers_) worker.thread.join();
  while (status.ok() && !events_.empty()) status.Update(Advance());
  return status;
}

}  // namespace gg
