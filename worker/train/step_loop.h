// SPDX-License-Identifier: Apache-2.0
//
// The life of one step (docs/life-of-a-step.md). Knows interfaces only: which algorithm exchanges,
// over which transport, on which device is decided elsewhere, and nothing here asks. Thread-safety:
// thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_STEP_LOOP_H_
#define GOSSIPGRAD_WORKER_TRAIN_STEP_LOOP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "worker/data/batch_source.h"
#include "worker/exchange/exchange.h"
#include "worker/nn/network.h"
#include "worker/trade/sample_ring.h"
#include "worker/train/phase_timer.h"
#include "worker/train/reporter.h"

namespace gg {

// All borrowed; they must outlive the loop.
struct StepLoopParts {
  BatchSource* source = nullptr;
  SampleRing* ring = nullptr;
  Network* network = nullptr;
  ExchangeStrategy* exchange = nullptr;
  PhaseTimer* phases = nullptr;
  Clock* clock = nullptr;
  MetricSink* metrics = nullptr;
  Reporter* reporter = nullptr;
  uint64_t total_steps = 0;
  absl::Duration batch_deadline = absl::Seconds(60);  // how long a step waits for its batch
};

struct StepResult {
  double loss = 0;  // mean over the batch
  ExchangeStats exchange;
};

// A neighbour that is late or gone, or a damaged trade, costs the ring and not the job: it is reported
// and OK. Any other error of the ring is returned.
absl::Status TolerateRing(const absl::Status& status, uint64_t step, Reporter& reporter);

class StepLoop {
 public:
  explicit StepLoop(const StepLoopParts& parts) : parts_(parts) {}

  // Begins to assemble the batch of `first_step`. Once, before the first Step.
  void Prime(uint64_t first_step) { parts_.source->StartNext(first_step); }

  // One step; steps follow each other without a gap. After an error the loop is over.
  // kInternal: the loss is not finite; nothing of that step has reached the exchange.
  absl::StatusOr<StepResult> Step(uint64_t step);

 private:
  void CountPhases();

  const StepLoopParts parts_;
  std::array<absl::Duration, kPhaseCount> counted_{};  // what the metrics hold already
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_STEP_LOOP_H_
