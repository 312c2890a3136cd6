// SPDX-License-Identifier: Apache-2.0
//
// Where the wall time of the training loop goes. At every moment the loop is in exactly one phase;
// entering the next closes the one before with the same clock reading, hence the phases add up to
// the wall time without a gap. The exchange runs inside the hooks of forward and backward: its time
// is collected as kExchange and then divided, by what the strategy reports, into waiting for a
// partner, mixing and the rest. Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_PHASE_TIMER_H_
#define GOSSIPGRAD_WORKER_TRAIN_PHASE_TIMER_H_

#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/clock.h"

namespace gg {

enum class Phase { kData, kForward, kBackward, kOptimizer, kCommWait, kMix, kOther };
inline constexpr size_t kPhaseCount = 7;
inline constexpr std::array<Phase, kPhaseCount> kAllPhases = {
    Phase::kData,     Phase::kForward, Phase::kBackward, Phase::kOptimizer,
    Phase::kCommWait, Phase::kMix,     Phase::kOther};

absl::string_view PhaseName(Phase phase);  // the value of the metric's label `phase`

class PhaseTimer {
 public:
  // `clock` must outlive the timer.
  explicit PhaseTimer(Clock& clock) : clock_(clock) {}

  // Time counts between Start and Stop only, so that evaluation is left out. Start begins in
  // kOther.
  void Start();
  void Stop();

  void Enter(Phase phase) { Switch(static_cast<size_t>(phase)); }

  // Moves `waited` and `mixed` out of the exchange's time since the last call, and the rest of it
  // to kOther. What a strategy claims beyond the time it was given is cut off, so that the sum
  // stays right.
  void DivideExchange(absl::Duration waited, absl::Duration mixed);

  absl::Duration total(Phase phase) const { return spent_[static_cast<size_t>(phase)]; }
  absl::Duration wall() const;  // sum of the stretches between Start and Stop

  // Puts everything until the end of the scope to another phase.
  class Scope {
   public:
    Scope(PhaseTimer& timer, Phase phase) : Scope(timer, static_cast<size_t>(phase)) {}
    static Scope Exchange(PhaseTimer& timer) { return Scope(timer, kExchange); }
    ~Scope() { timer_.Switch(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Scope(PhaseTimer& timer, size_t slot) : timer_(timer), before_(timer.slot_) {
      timer.Switch(slot);
    }
    PhaseTimer& timer_;
    const size_t before_;
  };

 private:
  static constexpr size_t kExchange = kPhaseCount;  // one more slot, emptied by DivideExchange

  void Switch(size_t slot);

  Clock& clock_;
  bool running_ = false;
  size_t slot_ = static_cast<size_t>(Phase::kOther);
  absl::Time since_;        // when slot_ was entered
  absl::Time started_;      // last Start
  absl::Duration earlier_;  // wall time of earlier stretches
  std::array<absl::Duration, kPhaseCount + 1> spent_{};
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_PHASE_TIMER_H_
