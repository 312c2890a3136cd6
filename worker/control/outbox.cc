// SPDX-License-Identifier: Apache-2.0
#include "worker/control/outbox.h"

#include <algorithm>
#include <utility>

namespace gg {

using gossipgrad::v1::WorkerMessage;

void Outbox::Put(WorkerMessage message) {
  MutexLock lock(&monitor_.mu);
  if (message.has_progress()) {
    for (WorkerMessage& waiting : messages_) {
      if (!waiting.has_progress() || waiting.progress().job_id() != message.progress().job_id())
        continue;
      waiting = std::move(message);
      return;
    }
  }
  if (messages_.size() >= bound_) {
    const auto incident = std::find_if(messages_.begin(), messages_.end(),
                                       [](const WorkerMessage& m) { return m.has_incident(); });
    if (incident != messages_.end()) messages_.erase(incident);
  }
  messages_.push_back(std::move(message));
  monitor_.changed.NotifyAll();
}

void Outbox::PutBack(WorkerMessage message) {
  MutexLock lock(&monitor_.mu);
  messages_.push_front(std::move(message));
  monitor_.changed.NotifyAll();
}

std::optional<WorkerMessage> Outbox::Take(absl::Time deadline) {
  MutexLock lock(&monitor_.mu);
  clock_.Await(
      monitor_,
      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return interrupted_ || !messages_.empty(); },
      deadline);
  if (interrupted_ || messages_.empty()) return std::nullopt;
  WorkerMessage message = std::move(messages_.front());
  messages_.pop_front();
  if (messages_.empty()) monitor_.changed.NotifyAll();
  return message;
}

void Outbox::Interrupt() {
  MutexLock lock(&monitor_.mu);
  interrupted_ = true;
  monitor_.changed.NotifyAll();
}

void Outbox::Resume() {
  MutexLock lock(&monitor_.mu);
  interrupted_ = false;
}

bool Outbox::WaitUntilEmpty(absl::Time deadline) {
  MutexLock lock(&monitor_.mu);
  return clock_.Await(
      monitor_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return messages_.empty(); }, deadline);
}

size_t Outbox::size() const {
  MutexLock lock(&monitor_.mu);
  return messages_.size();
}

}  // namespace gg
