// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a job when one of its workers is gone. To add a policy: a function here and a
// line in the table. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_POLICY_WORKER_LOST_H_
#define GOSSIPGRAD_COORDINATOR_STATE_POLICY_WORKER_LOST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/state/decide.h"

namespace gg {

struct WorkerLoss {
  Rank rank = 0;
  std::string how;       // "its control stream closed"
  bool orderly = false;  // said that it was leaving
};

// Decides about the job alone; the worker's own removal is the caller's.
using WorkerLostPolicy = Decision (*)(const ClusterState&, const Job&, const WorkerLoss&,
                                      absl::Time now);

// Null when there is no policy of that name.
WorkerLostPolicy FindWorkerLostPolicy(absl::string_view name);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_POLICY_WORKER_LOST_H_
