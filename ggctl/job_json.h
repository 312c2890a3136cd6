// SPDX-License-Identifier: Apache-2.0
//
// The documents of `-o json|yaml`. Their keys are a promise (docs/ggctl.md): added to, never
// renamed. Times are RFC 3339 in UTC, durations seconds, shares and accuracies 0..1; what is not
// known is null. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_JOB_JSON_H_
#define GOSSIPGRAD_GGCTL_JOB_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ggctl/jobfile/problem.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

// {"apiVersion", "kind": "TrainingJob", "metadata": {name, labels, id, created, ...}, "spec",
// "status"}
nlohmann::ordered_json JobToJson(const gossipgrad::v1::Job& job);
nlohmann::ordered_json WorkerToJson(const gossipgrad::v1::WorkerStatus& worker);

// {"apiVersion", "kind", "items"}
nlohmann::ordered_json ListToJson(const char* kind, std::vector<nlohmann::ordered_json> items);

// {"apiVersion", "kind": "ProblemList", "items": [{severity, source, line, column, field, message,
// suggestion}]}
nlohmann::ordered_json ProblemsToJson(const std::vector<Problem>& problems);

// [{epoch, step, seconds, sent_bytes, train_loss, test_accuracy, consensus_distance,
// comm_wait_ratio}], one for each epoch; of a job that goes on: none.
nlohmann::ordered_json CurveToJson(const gossipgrad::v1::JobProgress& progress);

// What `local run -o json` prints: the outcome flat, in one object.
struct RunOutcome {
  gossipgrad::v1::Job job;  // as last seen; may be empty when the coordinator never answered
  std::string state;        // "Succeeded", "Failed", "Cancelled"
  std::string reason;       // "" when it succeeded
  std::string culprit;      // the process that ended, with how; "" when none did
  int workers = 0;
  int threads_per_worker = 0;
  int exit_code = 0;
  double wall_seconds = 0;  // from the first process started to the outcome
};
nlohmann::ordered_json OutcomeToJson(const RunOutcome& outcome);

// "0123456789abcdef".
std::string ChecksumText(uint64_t checksum);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOB_JSON_H_
