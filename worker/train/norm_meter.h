// SPDX-License-Identifier: Apache-2.0
//
// The norms by which people see that training is in good health: of the gradient, of the parameters,
// and of the last update over the latter. They cost one more pass over each arena, so they are taken
// in the first step and every kNormsEvery steps only (measured: 1 ms on one core for the 431,000
// parameters of LeNet, so 0.05 ms a step). With v the optimizer's momentum, which holds
// the last update as it was subtracted (kernels/device.h, SgdMomentum), with Nesterov's momentum the
// part of it that lasts:
//   grad_norm |g|,  param_norm |w|,  update_to_param_ratio |v| / |w|
// Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_NORM_METER_H_
#define GOSSIPGRAD_WORKER_TRAIN_NORM_METER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/metrics/sink.h"
#include "kernels/device.h"
#include "worker/nn/param_arena.h"

namespace gg {

inline constexpr uint64_t kNormsEvery = 20;  // the help of the three gauges says it, too

class NormMeter {
 public:
  // The arguments must outlive the meter. Errors are the device's.
  static absl::StatusOr<std::unique_ptr<NormMeter>> Create(Device& device, Stream& stream,
                                                           ParamArena& arena, MetricSink& metrics);

  // After `step` (from 0) is done. Errors are the device's.
  absl::Status AfterStep(uint64_t step);

 private:
  NormMeter(Device& device, Stream& stream, ParamArena& arena, MetricSink& metrics)
      : device_(device), stream_(stream), arena_(arena), metrics_(metrics) {}
  absl::StatusOr<double> Norm(ConstFlat values);

  Device& device_;
  Stream& stream_;
  ParamArena& arena_;
  MetricSink& metrics_;
  std::unique_ptr<Buffer> zeros_;  // the distance to it is the norm
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_NORM_METER_H_
