// SPDX-License-Identifier: Apache-2.0
//
// What has happened, decided and past recall. Durable events go to the store before they are
// applied; the others are about live workers, which a restarted coordinator does not know any more.
// Thread-safety: values.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_EVENT_H_
#define GOSSIPGRAD_COORDINATOR_STATE_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/state/cluster_state.h"
#include "coordinator/state/job.h"

namespace gg::event {

// Durable.
struct JobSubmitted {
  std::string job_id;
  absl::Time time;
  std::string request_id;
  JobSpec spec;
  friend bool operator==(const JobSubmitted&, const JobSubmitted&) = default;
};
struct JobAssigned {  // PENDING -> STARTING
  std::string job_id;
  absl::Time time;
  uint64_t view = 0;
  std::vector<WorkerInfo> members;  // in rank order
  friend bool operator==(const JobAssigned&, const JobAssigned&) = default;
};
struct JobAdvanced {  // -> RUNNING, -> COMPLETING
  std::string job_id;
  absl::Time time;
  JobState state = JobState::kRunning;
  friend bool operator==(const JobAdvanced&, const JobAdvanced&) = default;
};
struct JobEnded {  // -> SUCCEEDED, FAILED, CANCELLED; ending.h fills in what the job is shown with
  std::string job_id;
  absl::Time time;
  JobState state = JobState::kFailed;
  std::string reason;
  absl::StatusCode failure = absl::StatusCode::kOk;
  std::string note;  // one CamelCase word
  std::optional<JobResult> result;
  Rank culprit = -1;               // -1 = none
  std::vector<MemberEnd> members;  // in rank order
  JobProgress progress;
  std::vector<JobNote> notes;  // all before the one of this event
  uint64_t revision = 0;       // before this event
  friend bool operator==(const JobEnded&, const JobEnded&) = default;
};
// The job is dropped from memory and store. Carries what must outlive it, so that earlier events of
// this kind are not needed any more.
struct JobForgotten {
  std::string job_id;
  uint64_t last_view = 0;
  uint64_t last_job_number = 0;
  friend bool operator==(const JobForgotten&, const JobForgotten&) = default;
};

// Volatile.
struct PendingExplained {
  std::string job_id;
  std::string reason;
  friend bool operator==(const PendingExplained&, const PendingExplained&) = default;
};
struct WorkerJoined {
  WorkerInfo info;
  uint64_t session = 0;
  absl::Time time;
  friend bool operator==(const WorkerJoined&, const WorkerJoined&) = default;
};
struct WorkerLeft {
  std::string worker_id;
  friend bool operator==(const WorkerLeft&, const WorkerLeft&) = default;
};
struct WorkerHeard {
  std::string worker_id;
  absl::Time time;
  friend bool operator==(const WorkerHeard&, const WorkerHeard&) = default;
};
struct LeasesExtended {
  absl::Time time;
  friend bool operator==(const LeasesExtended&, const LeasesExtended&) = default;
};
struct MemberPrepared {
  std::string job_id;
  Rank rank = 0;
  PreparedReport report;
  absl::Time time;
  friend bool operator==(const MemberPrepared&, const MemberPrepared&) = default;
};
struct MemberProgressed {
  std::string job_id;
  Rank rank = 0;
  ProgressReport report;
  friend bool operator==(const MemberProgressed&, const MemberProgressed&) = default;
};
struct MemberEpochEnded {
  std::string job_id;
  Rank rank = 0;
  EpochReport report;
  friend bool operator==(const MemberEpochEnded&, const MemberEpochEnded&) = default;
};
struct MemberFinished {
  std::string job_id;
  Rank rank = 0;
  FinishedReport report;
  friend bool operator==(const MemberFinished&, const MemberFinished&) = default;
};
struct JobProgressed {
  std::string job_id;
  JobProgress progress;
  friend bool operator==(const JobProgressed&, const JobProgressed&) = default;
};
struct JobNoted {
  std::string job_id;
  JobNote note;
  friend bool operator==(const JobNoted&, const JobNoted&) = default;
};

}  // namespace gg::event

namespace gg {

using Event =
    std::variant<event::JobSubmitted, event::JobAssigned, event::JobAdvanced, event::JobEnded,
                 event::JobForgotten, event::PendingExplained, event::WorkerJoined,
                 event::WorkerLeft, event::WorkerHeard, event::LeasesExtended,
                 event::MemberPrepared, event::MemberProgressed, event::MemberEpochEnded,
                 event::MemberFinished, event::JobProgressed, event::JobNoted>;

bool IsDurable(const Event& event);

// The job the event is about; "" = none.
absl::string_view JobIdOf(const Event& event);

// Events about jobs or workers that are not there change nothing: durable events are replayed
// without the volatile ones between them.
void Apply(const Event& event, ClusterState* state);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_EVENT_H_
