// SPDX-License-Identifier: Apache-2.0
//
// Scoring a network on a range of a data set, in pieces that keep memory small and let a stop
// request through. Thread-safety: thread-compatible; used by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRAIN_EVALUATE_H_
#define GOSSIPGRAD_WORKER_TRAIN_EVALUATE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "worker/data/dataset.h"
#include "worker/nn/network.h"

namespace gg {

struct Score {
  int64_t samples = 0;
  int64_t correct = 0;
  double loss_sum = 0;
  double accuracy() const {
    return samples == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(samples);
  }
};

// `may_continue` is asked before each piece; its error ends the evaluation and is returned.
absl::StatusOr<Score> Evaluate(Network& network, const Dataset& data, ShardRange range, double mean,
                               double stddev, absl::FunctionRef<absl::Status()> may_continue);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRAIN_EVALUATE_H_
