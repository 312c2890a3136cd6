// SPDX-License-Identifier: Apache-2.0
#include "worker/train/progress_meter.h"

namespace gg {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(200);
constexpr double kSmoothing = 0.3;  // weight of the newest rate

}  // namespace

void ProgressMeter::AfterStep(uint64_t finished, double epoch, double loss, double rate,
                              const ExchangeStats& totals, double partner_distance,
                              const PhaseTimer& phases) {
  progress_.step = finished;
  progress_.epoch = epoch;
  progress_.loss = loss;
  progress_.learning_rate = rate;
  progress_.skipped_exchanges = totals.exchanges_skipped;
  if (partner_distance >= 0) progress_.partner_distance = partner_distance;

  const absl::Time now = clock_.Now();
  if (any_ && now - reported_at_ < kInterval && finished != last_step_) return;
  const absl::Duration wall = phases.wall();
  const double seconds = absl::ToDoubleSeconds(wall - reported_wall_);
  if (seconds > 0) {
    const double newest =
        static_cast<double>(finished - reported_step_) * static_cast<double>(batch_size_) / seconds;
    double& smooth = progress_.samples_per_second;
    smooth = any_ ? smooth + kSmoothing * (newest - smooth) : newest;
  }
  if (wall > absl::ZeroDuration()) {
    progress_.comm_wait_ratio = absl::FDivDuration(phases.total(Phase::kCommWait), wall);
  }
  any_ = true;
  reported_at_ = now;
  reported_step_ = finished;
  reported_wall_ = wall;
  reporter_.OnProgress(progress_);
}

void ProgressMeter::Completing() {
  progress_.completing = true;
  reporter_.OnProgress(progress_);
}

}  // namespace gg
