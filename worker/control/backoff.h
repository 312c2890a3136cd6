// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before the next attempt: twice as long after each failure up to a bound, each
// time shortened by a random part, so that workers that lost the same coordinator do not come back
// in step. Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_CONTROL_BACKOFF_H_
#define GOSSIPGRAD_WORKER_CONTROL_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "core/rng.h"

namespace gg {

struct BackoffOptions {
  absl::Duration initial = absl::Milliseconds(100);
  absl::Duration max = absl::Seconds(3);
  double jitter = 0.5;  // a delay is at least (1 - jitter) of the full one
};

class Backoff {
 public:
  Backoff(const BackoffOptions& options, uint64_t seed)
      : options_(options), next_(options.initial), rng_(seed, "backoff") {}

  absl::Duration Next() {
    const absl::Duration full = next_;
    next_ = std::min(next_ * 2, options_.max);
    return full * (1.0 - options_.jitter * static_cast<double>(rng_.Uniform()));
  }

  void Reset() { next_ = options_.initial; }  // after a success

 private:
  const BackoffOptions options_;
  absl::Duration next_;
  Rng rng_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_CONTROL_BACKOFF_H_
