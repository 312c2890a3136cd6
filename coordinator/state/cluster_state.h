// SPDX-License-Identifier: Apache-2.0
//
// Everything the coordinator decides by. Changed by Apply(event) alone; the same events always give
// the same state. Thread-safety: a value, owned by the coordinator's loop thread.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_CLUSTER_STATE_H_
#define GOSSIPGRAD_COORDINATOR_STATE_CLUSTER_STATE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/state/job.h"

namespace gg {

// Constant for the life of a coordinator.
struct ClusterOptions {
  absl::Duration lease = absl::Seconds(3);  // a worker silent for longer is lost
  absl::Duration heartbeat = absl::Seconds(0.5);
  // With `min` but not `max` workers idle, a job waits until nobody new has come for this long.
  absl::Duration settle = absl::Seconds(2);
  absl::Duration progress_interval =
      absl::Milliseconds(200);  // between two changes of a job's progress
  absl::Duration finished_ttl = absl::Hours(24 * 7);
  size_t finished_max = 200;
  size_t live_max = 1000;            // unfinished jobs; more are refused
  size_t notes_max = 200;            // history lines per job
  std::string worker_lost = "fail";  // policy/worker_lost.h
  friend bool operator==(const ClusterOptions&, const ClusterOptions&) = default;
};

// A registered worker whose stream stands.
struct Worker {
  WorkerInfo info;
  uint64_t session = 0;  // of its control stream
  uint64_t order = 0;    // of registration
  absl::Time last_heartbeat = absl::InfinitePast();
  std::string job_id;  // "" = idle
  friend bool operator==(const Worker&, const Worker&) = default;
};

struct ClusterState {
  ClusterOptions options;
  std::map<std::string, Worker> workers;        // by worker_id
  std::map<uint64_t, Job> jobs;                 // by Job::number
  std::map<std::string, uint64_t> job_number;   // id -> number
  std::map<std::string, uint64_t> request_job;  // request_id -> number
  uint64_t last_job_number = 0;
  uint64_t last_view = 0;
  uint64_t last_order = 0;
  absl::Time last_registration = absl::InfinitePast();
  friend bool operator==(const ClusterState&, const ClusterState&) = default;
};

// By id, else the newest job of that name. Null when there is none.
const Job* FindJob(const ClusterState& state, absl::string_view name_or_id);
const Job* FindJobById(const ClusterState& state, absl::string_view id);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_CLUSTER_STATE_H_
