// SPDX-License-Identifier: Apache-2.0
//
// A job as the coordinator knows it, and the workers that run it. Plain values;
// gossipgrad/v1/job.proto describes the same things for users. Thread-safety: values.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_JOB_H_
#define GOSSIPGRAD_COORDINATOR_STATE_JOB_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "core/spec/job_spec.h"

namespace gg {

// Values are written to the store: never renumber.
enum class JobState {
  kPending = 1,
  kStarting = 2,
  kRunning = 3,
  kCompleting = 4,
  kSucceeded = 5,
  kFailed = 6,
  kCancelled = 7,
};
inline constexpr JobState kAllJobStates[] = {
    JobState::kPending,   JobState::kStarting, JobState::kRunning,  JobState::kCompleting,
    JobState::kSucceeded, JobState::kFailed,   JobState::kCancelled};

absl::string_view Name(JobState state);  // "PENDING"
bool IsFinal(JobState state);
bool HoldsWorkers(JobState state);  // STARTING, RUNNING, COMPLETING

enum class MemberPhase {
  kPreparing = 1,
  kReady = 2,
  kRunning = 3,
  kFinishing = 4,
  kFinished = 5,
  kFailed = 6,
  kLost = 7,
  kStopped = 8,  // told to stop because the job ended
};
absl::string_view Name(MemberPhase phase);  // "preparing"

// What a worker says of itself when it registers.
struct WorkerInfo {
  std::string worker_id;
  uint64_t incarnation = 0;
  std::string software_version;
  std::string host;
  int64_t pid = 0;
  std::string address;
  std::string transport;
  std::string device;
  int cpu_threads = 0;
  std::map<std::string, std::string> topology;  // labels it was started with
  friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};

struct PreparedReport {
  uint64_t schedule_fingerprint = 0;
  uint64_t data_fingerprint = 0;
  uint64_t model_fingerprint = 0;
  uint64_t parameter_count = 0;
  uint64_t steps_per_epoch = 0;
  uint64_t total_steps = 0;
  std::string transport;
  friend bool operator==(const PreparedReport&, const PreparedReport&) = default;
};

struct ProgressReport {
  uint64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double learning_rate = 0;
  double samples_per_second = 0;
  double comm_wait_ratio = 0;
  uint64_t skipped_exchanges = 0;
  double partner_distance = -1;
  bool completing = false;
  friend bool operator==(const ProgressReport&, const ProgressReport&) = default;
};

struct EpochReport {
  uint32_t epoch = 0;  // finished epochs
  double train_loss = 0;
  bool evaluated = false;
  uint64_t test_correct = 0;
  uint64_t test_samples = 0;
  uint64_t step = 0;
  double train_seconds = 0;
  double wait_seconds = 0;
  uint64_t sent_bytes = 0;
  double partner_distance = -1;
  friend bool operator==(const EpochReport&, const EpochReport&) = default;
};

struct FinishedReport {
  uint64_t steps = 0;
  double epochs = 0;
  double train_seconds = 0;
  uint64_t samples = 0;
  uint64_t sent_bytes = 0;
  uint64_t sent_messages = 0;
  double wait_seconds = 0;
  uint64_t skipped_exchanges = 0;
  double squared_distance = 0;
  double squared_parameter_norm = 0;
  double replica_accuracy = 0;
  uint64_t average_correct = 0;
  uint64_t average_samples = 0;
  double average_loss_sum = 0;
  uint64_t model_checksum = 0;
  std::map<std::string, double> phase_seconds;
  uint64_t trades_late = 0;
  uint64_t parameter_count = 0;
  friend bool operator==(const FinishedReport&, const FinishedReport&) = default;
};

// One worker of a job; its place in Job::members is its rank. Kept after the worker is gone; of the
// reports, those are dropped when the job ends that its result has been made of.
struct JobMember {
  WorkerInfo worker;
  MemberPhase phase = MemberPhase::kPreparing;
  std::string reason;  // why failed or lost
  std::optional<PreparedReport> prepared;
  ProgressReport progress;
  std::map<uint32_t, EpochReport> epochs;
  std::optional<FinishedReport> finished;
  std::string transport;  // what the exchange runs over, when prepared
  friend bool operator==(const JobMember&, const JobMember&) = default;
};

// What is kept of a member when the job ends, beside its identity.
struct MemberEnd {
  MemberPhase phase = MemberPhase::kStopped;
  std::string reason;
  ProgressReport progress;
  std::string transport;
  friend bool operator==(const MemberEnd&, const MemberEnd&) = default;
};

struct EpochPoint {
  uint32_t epoch = 0;
  uint64_t step = 0;
  double train_seconds = 0;
  double sent_bytes = 0;
  double train_loss = 0;
  double test_accuracy = -1;
  double consensus_distance = -1;
  double comm_wait_ratio = 0;
  friend bool operator==(const EpochPoint&, const EpochPoint&) = default;
};

struct JobProgress {
  uint64_t step = 0;         // slowest worker
  uint64_t total_steps = 0;  // 0 = not known yet
  double epoch = 0;
  int64_t total_epochs = 0;
  double loss = 0;
  double learning_rate = 0;
  double samples_per_second = 0;
  double comm_wait_ratio = 0;
  double test_accuracy = -1;
  double eta_seconds = -1;
  absl::Time last_updated = absl::InfinitePast();
  std::vector<EpochPoint> curve;  // once the job is over
  friend bool operator==(const JobProgress&, const JobProgress&) = default;
};

struct JobResult {
  // Negative where there was no final average: test_accuracy, test_loss, consensus_distance.
  double test_accuracy = 0;
  double test_loss = 0;
  std::vector<double> replica_accuracy;
  std::vector<double> train_loss;
  std::vector<double> epoch_test_accuracy;
  double samples_per_second = 0;
  double train_seconds = 0;
  double sent_bytes_per_step = 0;
  double messages_per_step = 0;
  double comm_wait_ratio = 0;
  double consensus_distance = 0;
  uint64_t skipped_exchanges = 0;
  uint64_t steps = 0;
  double epochs = 0;
  double parameter_norm = 0;
  uint64_t parameter_count = 0;
  uint64_t model_checksum = 0;
  std::map<std::string, double> phase_seconds;
  uint64_t trades_late = 0;
  friend bool operator==(const JobResult&, const JobResult&) = default;
};

// One line of a job's history, for people.
struct JobNote {
  absl::Time time;
  bool warning = false;
  std::string reason;  // one CamelCase word
  std::string message;
  std::string worker_id;  // "" = none
  friend bool operator==(const JobNote&, const JobNote&) = default;
};

struct Job {
  std::string id;
  uint64_t number = 0;  // order of submission
  std::string request_id;
  JobSpec spec;
  JobState state = JobState::kPending;
  std::string reason;                                // a sentence
  absl::StatusCode failure = absl::StatusCode::kOk;  // of what failed the job
  absl::Time created = absl::InfinitePast();
  absl::Time started = absl::InfinitePast();   // left PENDING
  absl::Time training = absl::InfinitePast();  // all workers prepared
  absl::Time finished = absl::InfinitePast();
  uint64_t view = 0;  // 0 = none yet
  std::vector<JobMember> members;
  JobProgress progress;
  bool progress_due = false;  // members reported more than `progress` shows
  std::optional<JobResult> result;
  std::deque<JobNote> notes;  // newest last, bounded
  uint64_t revision = 0;
  friend bool operator==(const Job&, const Job&) = default;
};

// "worker w3 (rank 2, host nid07, pid 4711)": how every message names a member.
std::string Describe(const Job& job, Rank rank);
// "1 worker", "4 workers".
std::string CountWorkers(size_t count);
// Ids, addresses and the number of a job's membership.
View ViewOf(const Job& job);
// The worker as the other members see it. Its host's name is the label "host", unless it has one.
Member MemberOf(const WorkerInfo& worker);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_JOB_H_
