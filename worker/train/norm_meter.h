// SPDX-License-Identifier: Apache-2.0
//
// The norms by which people see that training is in good health: of the gradient, of the
// parameters, and of the last update over the latter. They cost a few passes over the arenas, so
// they are taken in the first step and every kNormsEvery steps only:
//   grad_norm |g|,  param_norm |w|,  update_to_param_ratio |what the optimizer changed| / |w|
// The update is measured where it is made, as a difference of weights, whatever the optimizer. Some
// exchanges make it in the step after, when the mean gradient is there: the ratio is then set
// there.
// Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_NORM_METER_H_
#define GOSSIPGRAD_WORKER_TRAIN_NORM_METER_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/metrics/sink.h"
#include "kernels/device.h"
#include "worker/nn/param_arena.h"

namespace gg {

inline constexpr uint64_t kNormsEvery = 20;  // the help of the three gauges says it, too

class NormMeter {
 public:
  // The arguments must outlive the meter.
  NormMeter(Device& device, Stream& stream, ParamArena& arena, MetricSink& metrics)
      : device_(device), stream_(stream), arena_(arena), metrics_(metrics) {}

  // Runs `update`, which may change `count` weights from `offset` on and belongs to `step` (from
  // 0). Returns its status, or an error of the device.
  absl::Status Watch(uint64_t step, size_t offset, size_t count,
                     absl::FunctionRef<absl::Status()> update);

  // After `step` is done. Errors are the device's.
  absl::Status AfterStep(uint64_t step);

 private:
  Device& device_;
  Stream& stream_;
  ParamArena& arena_;
  MetricSink& metrics_;
  std::unique_ptr<Buffer> before_;  // weights before an update
  uint64_t step_ = 0;               // of the updates that are measured
  double squared_update_ = 0;       // of those so far
  double shown_ = 0;                // of which the gauge knows
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_NORM_METER_H_
