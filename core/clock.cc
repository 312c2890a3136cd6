// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <algorithm>
#include <chrono>

#include "absl/time/clock.h"

namespace gg {
namespace {

class SteadyClock final : public Clock {
 public:
  absl::Time Now() override {
    return origin_ + absl::FromChrono(std::chrono::steady_clock::now() - steady_origin_);
  }

  bool Await(Monitor& monitor, absl::FunctionRef<bool()> ready, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor.mu) override {
    while (!ready()) {
      const absl::Duration left = deadline - Now();
      if (left <= absl::ZeroDuration()) return false;
      // An infinite deadline is cut into hours: chrono would overflow.
      monitor.changed.WaitFor(&monitor.mu,
                              absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))));
    }
    return true;
  }

 private:
  const absl::Time origin_ = absl::Now();
  const std::chrono::steady_clock::time_point steady_origin_ = std::chrono::steady_clock::now();
};

}  // namespace

Clock& RealClock() {
  static Clock& clock = *new SteadyClock;
  return clock;
}

}  // namespace gg
