// SPDX-License-Identifier: Apache-2.0
//
// What can happen to a cluster, as the shell tells it.
// Thread-safety: values.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_INPUT_H_
#define GOSSIPGRAD_COORDINATOR_STATE_INPUT_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/state/job.h"
#include "core/spec/job_spec.h"

namespace gg::input {

// `job_id` is made by the shell, new for each submit; a known request_id makes it unused. The spec
// is valid.
struct SubmitJob {
  std::string job_id;
  std::string request_id;  // "" = none
  JobSpec spec;
};
struct CancelJob {
  std::string name;  // or id
  std::string reason;
};

// Who speaks: a control stream. Inputs of a stream that has been replaced or given up change
// nothing.
struct Speaker {
  std::string worker_id;
  uint64_t session = 0;
};
// A worker message about a job: those of another job or view change nothing.
struct About {
  std::string job_id;
  uint64_t view = 0;
};

struct WorkerRegistered {
  uint64_t session = 0;
  WorkerInfo info;
};
struct WorkerHeartbeat {
  Speaker from;
};
struct WorkerPrepared {
  Speaker from;
  About about;
  PreparedReport report;
};
struct WorkerProgress {
  Speaker from;
  About about;
  ProgressReport report;
};
struct WorkerEpoch {
  Speaker from;
  About about;
  EpochReport report;
};
struct WorkerIncident {
  Speaker from;
  About about;
  uint64_t step = 0;
  std::string partner;  // worker_id
  std::string reason;   // late | lost | corrupt | nonfinite | norm | stale | quarantine
  std::string detail;
};
struct WorkerFinished {
  Speaker from;
  About about;
  FinishedReport report;
};
struct WorkerFailed {
  Speaker from;
  About about;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;
};
struct WorkerLeaving {
  Speaker from;
  std::string reason;
};
// The stream ended without WorkerLeaving.
struct WorkerDisconnected {
  Speaker from;
  std::string how;  // "its control stream closed"
};

// Time passed. The shell repeats it until a decision has no events: each one takes care of one
// thing. `stalled` is how long the shell itself could not listen before this tick: silence of that
// time is not held against the workers.
struct Tick {
  absl::Duration stalled = absl::ZeroDuration();
};
// Once, after the store was replayed.
struct Recovered {};

}  // namespace gg::input

namespace gg {

using Input = std::variant<input::SubmitJob, input::CancelJob, input::WorkerRegistered,
                           input::WorkerHeartbeat, input::WorkerPrepared, input::WorkerProgress,
                           input::WorkerEpoch, input::WorkerIncident, input::WorkerFinished,
                           input::WorkerFailed, input::WorkerLeaving, input::WorkerDisconnected,
                           input::Tick, input::Recovered>;

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_INPUT_H_
