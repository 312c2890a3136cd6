// SPDX-License-Identifier: Apache-2.0
//
// Batches in proportion to the speed of the workers (spec.exchange.proportional_batches), so that all finish a step
// together: each worker measures how fast it trains, all tell each other, and each computes everybody's batch size by
// itself. Thread-safety: MeasureSpeed and ShareBatches are functions of what they are given; SpeedTable is for one
// thread, except Abort.
#ifndef GOSSIPGRAD_WORKER_TRAIN_BATCH_SHARES_H_
#define GOSSIPGRAD_WORKER_TRAIN_BATCH_SHARES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/clock.h"
#include "kernels/device.h"
#include "worker/data/dataset.h"
#include "worker/exchange/ring_average.h"
#include "worker/nn/network.h"
#include "worker/transport/transport.h"

namespace gg {

// Samples per second of forward and backward passes over the first batch of `data`, taken over at least a second and
// ten steps after two that are not counted. Leaves weights and buffers as they are, overwrites gradients. Errors: those
// of the network; what `may_continue` says between two steps.
absl::StatusOr<double> MeasureSpeed(Network& network, const Dataset& data, double mean,
                                    double stddev, Clock& clock,
                                    absl::FunctionRef<absl::Status()> may_continue);

// Sizes by rank in proportion to the speeds: `batch_size` on the average, each at least `least`, which the network decides
// (LeastBatch of core/spec/validate.h). Speeds count in thousandths of a sample per second, at least one and at most a
// billion samples. kInvalidArgument: a speed that is no number, a batch size below `least`.
absl::StatusOr<std::vector<int64_t>> ShareBatches(absl::Span<const float> speeds,
                                                  int64_t batch_size, int64_t least);

// One collective in which every worker learns everybody's value, the same bits everywhere.
class SpeedTable {
 public:
  // Borrowed; memory of a collective that failed lives until the group lets go of it.
  SpeedTable(Device& device, PeerGroup& group, Clock& clock)
      : device_(device), group_(group), clock_(clock) {}

  // Once, before the first step. By rank. kDeadlineExceeded and kUnavailable name the missing worker; or the status of
  // Abort.
  absl::StatusOr<std::vector<float>> Run(double own, absl::Time deadline);
  // From any thread; the first reason counts.
  void Abort(absl::Status why);

 private:
  Device& device_;
  PeerGroup& group_;
  Clock& clock_;
  const std::shared_ptr<RingState> state_ = std::make_shared<RingState>();
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_BATCH_SHARES_H_
