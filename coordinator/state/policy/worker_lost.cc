// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/policy/worker_lost.h"

#include "absl/strings/str_cat.h"
#include "coordinator/state/job_life.h"

namespace gg {
namespace {

Decision FailJob(const ClusterState& state, const Job& job, const WorkerLoss& loss,
                 absl::Time now) {
  Ending ending;
  ending.state = JobState::kFailed;
  ending.failure = absl::StatusCode::kUnavailable;
  ending.culprit = loss.rank;
  ending.culprit_phase = MemberPhase::kLost;
  ending.culprit_reason = loss.how;
  ending.but_not = loss.rank;
  ending.note = loss.orderly ? "WorkerLeft" : "WorkerLost";
  ending.reason = absl::StrCat(Describe(job, loss.rank), loss.orderly ? " left" : " was lost",
                               " at step ", job.members[loss.rank].progress.step, ": ", loss.how);
  return EndJob(state, job, ending, now);
}

struct Entry {
  absl::string_view name;
  WorkerLostPolicy policy;
};
constexpr Entry kPolicies[] = {
    {"fail", FailJob},
};

}  // namespace

WorkerLostPolicy FindWorkerLostPolicy(absl::string_view name) {
  for (const Entry& entry : kPolicies) {
    if (entry.name == name) return entry.policy;
  }
  return nullptr;
}

}  // namespace gg
