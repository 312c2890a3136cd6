// SPDX-License-Identifier: Apache-2.0
//
// The life of one step (docs/life-of-a-step.md). Knows interfaces only: which algorithm exchanges,
// over which transport, on which device is decided elsewhere, and nothing here asks. Thread-safety:
// thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_STEP_LOOP_H_
#define GOSSIPGRAD_WORKER_TRAIN_STEP_LOOP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "worker/data/batch_source.h"
#include "worker/exchange/exchange.h"
#include "worker/nn/network.h"
#include "worker/optim/gradient_clip.h"
#include "worker/trade/sample_ring.h"
#include "worker/train/phase_timer.h"
#include "worker/train/reporter.h"

namespace gg {

// All borrowed; they must outlive the loop.
struct StepLoopParts {
  BatchSource* source = nullptr;
  SampleRing* ring = nullptr;
  Network* network = nullptr;
  GradientClip* clip = nullptr;  // null: gradients are used as they are
  ExchangeStrategy* exchange = nullptr;
  PhaseTimer* phases = nullptr;
  Clock* clock = nullptr;
  MetricSink* metrics = nullptr;
  Reporter* reporter = nullptr;
  uint64_t total_steps = 0;
  uint64_t steps_per_epoch = 1;
  absl::Duration batch_deadline = absl::Seconds(60);  // how long a step waits for its batch
  absl::Duration ring_deadline = absl::Seconds(5);    // how long an epoch waits for the ring
};

struct StepResult {
  double loss = 0;  // mean over the batch
  ExchangeStats exchange;
};

// A neighbour that is late or gone costs the ring and not the job: it is reported and OK. Any other
// error of the ring is returned.
absl::Status TolerateRing(const absl::Status& status, uint64_t step, Reporter& reporter);

class StepLoop {
 public:
  explicit StepLoop(const StepLoopParts& parts) : parts_(parts) {}

  // Before the first Step, and between the last of one epoch and the first of the next: completes
  // the trades of the epoch that ends, so that the epoch that begins reads every sample of the job
  // once, and begins to assemble the batch of `step`. A ring that is late is reported; its samples
  // may then be read twice, or by nobody, in this epoch.
  absl::Status BeginEpoch(uint64_t step);

  // One step; within an epoch steps follow each other without a gap. After an error the loop is
  // over.
  // kInternal: the loss is not finite; nothing of that step has reached the exchange.
  absl::StatusOr<StepResult> Step(uint64_t step);

 private:
  bool LastOfEpoch(uint64_t step) const { return (step + 1) % parts_.steps_per_epoch == 0; }
  absl::Status Tolerate(const absl::Status& ring, uint64_t step);
  void CountPhases();

  const StepLoopParts parts_;
  // Makes the step's gradient, block by block, and gives it to the exchange.
  absl::Status Backward();

  bool ring_over_ = false;
  std::vector<BlockIndex> held_;  // blocks that wait for the norm of the whole gradient
  std::array<absl::Duration, kPhaseCount> counted_{};  // what the metrics hold already
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_STEP_LOOP_H_
