// SPDX-License-Identifier: Apache-2.0
//
// From the results of steps to a throttled progress report with a smoothed rate.
// Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_PROGRESS_METER_H_
#define GOSSIPGRAD_WORKER_TRAIN_PROGRESS_METER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "core/clock.h"
#include "worker/exchange/exchange.h"
#include "worker/train/phase_timer.h"
#include "worker/train/reporter.h"

namespace gg {

class ProgressMeter {
 public:
  // The arguments must outlive the meter. `last_step` is reported whatever the throttle says.
  ProgressMeter(Clock& clock, Reporter& reporter, uint64_t last_step, int64_t batch_size)
      : clock_(clock), reporter_(reporter), last_step_(last_step), batch_size_(batch_size) {}

  // `totals` are those of the run so far.
  void AfterStep(uint64_t finished, double epoch, double loss, double rate,
                 const ExchangeStats& totals, double partner_distance, const PhaseTimer& phases);

  // The last report again, now as completing.
  void Completing();

 private:
  Clock& clock_;
  Reporter& reporter_;
  const uint64_t last_step_;
  const int64_t batch_size_;
  TrainProgress progress_;
  bool any_ = false;  // something was reported
  absl::Time reported_at_;
  uint64_t reported_step_ = 0;
  absl::Duration reported_wall_;  // of the loop, so that evaluation does not count as slowness
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_PROGRESS_METER_H_
