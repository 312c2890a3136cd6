// SPDX-License-Identifier: Apache-2.0
#include "worker/train/phase_timer.h"

#include <algorithm>

namespace gg {

absl::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kData:
      return "data";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kCommWait:
      return "comm_wait";
    case Phase::kMix:
      return "mix";
    case Phase::kOther:
      return "other";
  }
  return "unknown";
}

void PhaseTimer::Start() {
  started_ = since_ = clock_.Now();
  slot_ = static_cast<size_t>(Phase::kOther);
  running_ = true;
}

void PhaseTimer::Stop() {
  if (!running_) return;
  Switch(static_cast<size_t>(Phase::kOther));
  running_ = false;
  earlier_ += since_ - started_;
}

void PhaseTimer::Switch(size_t slot) {
  if (running_) {
    const absl::Time now = clock_.Now();
    spent_[slot_] += now - since_;
    since_ = now;
  }
  slot_ = slot;
}

void PhaseTimer::DivideExchange(absl::Duration waited, absl::Duration mixed) {
  Switch(slot_);
  absl::Duration rest = spent_[kExchange];
  spent_[kExchange] = absl::ZeroDuration();
  const auto give = [&](Phase phase, absl::Duration amount) {
    amount = std::clamp(amount, absl::ZeroDuration(), rest);
    spent_[static_cast<size_t>(phase)] += amount;
    rest -= amount;
  };
  give(Phase::kCommWait, waited);
  give(Phase::kMix, mixed);
  give(Phase::kOther, rest);
}

absl::Duration PhaseTimer::wall() const {
  return running_ ? earlier_ + (since_ - started_) : earlier_;
}

}  // namespace gg
