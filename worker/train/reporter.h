// SPDX-License-Identifier: Apache-2.0
//
// What the training thread tells about its run while it goes on. The worker's daemon passes it to
// the coordinator. Thread-safety: called from the training thread only; must not block.
#ifndef GOSSIPGRAD_WORKER_TRAIN_REPORTER_H_
#define GOSSIPGRAD_WORKER_TRAIN_REPORTER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "worker/exchange/exchange.h"

namespace gg {

struct TrainProgress {
  uint64_t step = 0;              // steps finished
  double epoch = 0;               // with fraction
  double loss = 0;                // of the last step
  double learning_rate = 0;       // of the last step
  double samples_per_second = 0;  // of this worker, smoothed
  double comm_wait_ratio = 0;  // share of the loop's time spent waiting for a partner so far, 0..1
  uint64_t skipped_exchanges = 0;  // so far
  double partner_distance = -1;    // last one measured; negative = none
  bool completing = false;         // training is over, final scoring goes on
};

struct EpochSummary {
  uint32_t epoch = 0;     // epochs finished; a last, partial one counts as whole here
  double train_loss = 0;  // mean over the epoch's steps
  bool evaluated = false;
  uint64_t test_correct = 0;  // of this worker's slice of the test set
  uint64_t test_samples = 0;
  // Since the run began:
  uint64_t step = 0;             // steps finished
  double train_seconds = 0;      // of the training loop, without evaluation
  double wait_seconds = 0;       // of them, waiting for a partner
  uint64_t sent_bytes = 0;       // exchange payload
  double partner_distance = -1;  // last one measured; negative = none
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void OnProgress(const TrainProgress& progress) = 0;  // at most about five a second
  virtual void OnEpoch(const EpochSummary& epoch) = 0;
  virtual void OnIncident(const PartnerIncident& incident) = 0;
  // The sample ring fell behind or is over; training goes on with the samples that this worker has.
  virtual void OnRingTrouble(uint64_t step, const absl::Status& why) = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_REPORTER_H_
