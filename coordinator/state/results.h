// SPDX-License-Identifier: Apache-2.0
//
// From the reports of the workers to the numbers of the job; job.proto says what each of them
// means. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_RESULTS_H_
#define GOSSIPGRAD_COORDINATOR_STATE_RESULTS_H_

#include "absl/time/time.h"
#include "coordinator/state/job.h"

namespace gg {

// All members have finished.
JobResult Aggregate(const Job& job);

// What the members' last reports add up to.
JobProgress Summarise(const Job& job, absl::Time now);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_RESULTS_H_
