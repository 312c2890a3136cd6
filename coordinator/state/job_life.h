// SPDX-License-Identifier: Apache-2.0
//
// From submission to the end of a job: what users and the job's own workers can do to it.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_JOB_LIFE_H_
#define GOSSIPGRAD_COORDINATOR_STATE_JOB_LIFE_H_

#include "absl/time/time.h"
#include "coordinator/state/decide.h"

namespace gg {

Decision Submit(const ClusterState& state, const input::SubmitJob& in, absl::Time now);
Decision Cancel(const ClusterState& state, const input::CancelJob& in, absl::Time now);

// `rank` of `job` reported; the caller has checked that it is the live member it says.
Decision OnPrepared(const ClusterState& state, const Job& job, Rank rank, const PreparedReport& in,
                    absl::Time now);
Decision OnFinished(const ClusterState& state, const Job& job, Rank rank, const FinishedReport& in,
                    absl::Time now);

// The event that ends a job, and Stop for every member whose worker still runs it except `but_not`.
struct Ending {
  JobState state = JobState::kFailed;
  std::string reason;
  absl::StatusCode failure = absl::StatusCode::kOk;  // when FAILED
  std::string note;
  Rank culprit = -1;
  MemberPhase culprit_phase = MemberPhase::kFailed;
  std::string culprit_reason;
  Rank but_not = -1;
};
Decision EndJob(const ClusterState& state, const Job& job, const Ending& ending, absl::Time now);

// Parts of Tick; each returns an empty decision when there is nothing to do.
Decision FailOverdueStart(const ClusterState& state, absl::Time now);
Decision ForgetOldJob(const ClusterState& state, absl::Time now);
// After a restart: one job per call that was with workers is failed.
Decision FailInterrupted(const ClusterState& state, absl::Time now);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_JOB_LIFE_H_
