// SPDX-License-Identifier: Apache-2.0
//
// From the reports of the workers to the numbers of the job; job.proto says what each of them
// means. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_RESULTS_H_
#define GOSSIPGRAD_COORDINATOR_STATE_RESULTS_H_

#include <vector>

#include "absl/time/time.h"
#include "coordinator/state/job.h"

namespace gg {

// All members have finished.
JobResult Aggregate(const Job& job);

// What the members' last reports add up to; without the curve.
JobProgress Summarise(const Job& job, absl::Time now);

// The epochs that every member has reported.
std::vector<EpochPoint> Curve(const Job& job);

// Estimate of the consensus distance, sqrt(mean |w_i - w_mean|^2), from distances |w_i - w_j| between
// partners, where negative means none was measured. Of p replicas the mean of |w_i - w_j|^2 over all
// pairs is 2 p / (p - 1) times that of |w_i - w_mean|^2; p is the number of members, or of groups,
// whose members are equal, with schedule hierarchical. Negative where nothing was measured or where
// partners do not meet with their weights.
double ConsensusOfPartners(const Job& job, const std::vector<double>& partner_distances);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_RESULTS_H_
