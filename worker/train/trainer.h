// SPDX-License-Identifier: Apache-2.0
//
// One job on one worker: the steps of all epochs, the evaluations between them, the closing average
// and the final scores. Everything concrete (device, network, links) is handed in.
//
// At the end, in this order: the exchange settles; this replica is scored on the whole test set;
// the ring is drained; the replicas are averaged; the averaged model is scored on this worker's
// slice of the test set. Thread-safety: Make and Run belong to the training thread, Stop may be
// called from any thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_TRAINER_H_
#define GOSSIPGRAD_WORKER_TRAIN_TRAINER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/ids.h"
#include "core/metrics/sink.h"
#include "core/spec/job_spec.h"
#include "kernels/device.h"
#include "worker/data/dataset.h"
#include "worker/nn/network.h"
#include "worker/train/reporter.h"
#include "worker/transport/transport.h"

namespace gg {

// Borrowed parts must outlive the trainer.
struct TrainerContext {
  JobSpec spec;
  int size = 1;
  Rank rank = 0;
  Device* device = nullptr;
  // By rank; empty: spec.train.batch_size everywhere. Their mean is that size. Replicas count in
  // averages in proportion to them.
  std::vector<int64_t> batches;
  Network* network = nullptr;  // built for this rank's batch size, with fresh weights
  PeerGroup* group = nullptr;  // may be null when size is 1
  std::string transport;       // name of what `group` runs over, for the metrics
  std::shared_ptr<const Dataset> train, test;
  Clock* clock = nullptr;
  MetricSink* metrics = nullptr;
  Reporter* reporter = nullptr;
};

struct TrainingPlan {
  uint64_t steps_per_epoch = 0;
  uint64_t total_steps = 0;
};

// Totals of the run on this worker; they fill gossipgrad.v1.Finished.
struct TrainingResult {
  uint64_t steps = 0;
  double epochs = 0;         // with fraction
  double train_seconds = 0;  // wall time of the loop, evaluation left out
  uint64_t samples = 0;
  uint64_t sent_bytes = 0, sent_messages = 0;  // of the exchange, closing average left out
  double wait_seconds = 0;                     // stood still for a partner
  uint64_t skipped_exchanges = 0;
  double squared_distance = 0;                        // |w - w_mean|^2 before the closing average
  double squared_parameter_norm = 0;                  // |w|^2 of the final weights
  double replica_accuracy = 0;                        // before the average, whole test set, 0..1
  uint64_t average_correct = 0, average_samples = 0;  // final weights, this worker's slice
  double average_loss_sum = 0;
  uint64_t model_checksum = 0;  // XXH3-64 of the final weights
  uint64_t parameter_count = 0;
  uint64_t trades_late = 0;
  std::map<std::string, double> phase_seconds;  // add up to train_seconds
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // kInvalidArgument: the job cannot run on so many workers or samples; the message says what to
  // change.
  static absl::StatusOr<std::unique_ptr<Trainer>> Make(TrainerContext context);

  virtual const TrainingPlan& plan() const = 0;

  // Once. Errors carry the step. After Stop() the status given to it comes back within a step.
  virtual absl::StatusOr<TrainingResult> Run() = 0;

  // Ends Run() with `why` (not OK). Idempotent: the first reason counts.
  virtual void Stop(absl::Status why) = 0;
};

// XXH3-64 of the weights' bytes: equal exactly when the weights are equal bit for bit.
uint64_t WeightsChecksum(ParamArena& arena);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_TRAINER_H_
