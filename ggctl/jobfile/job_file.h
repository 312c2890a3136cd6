// SPDX-License-Identifier: Apache-2.0
//
// From a job file and command line overrides to a checked JobSpec.
//   apiVersion: gossipgrad.dev/v1
//   kind: TrainingJob
//   metadata: {name: my-job, labels: {team: vision}}
//   spec: {...}                       every field: docs/job-file.md
// A relative path (spec.data.path, spec.exchange.graph_file) counts from the folder of the job file; one
// given by --set from the current folder. Thread-safety: pure functions; LoadJobFile reads a file.
#ifndef GOSSIPGRAD_GGCTL_JOBFILE_JOB_FILE_H_
#define GOSSIPGRAD_GGCTL_JOBFILE_JOB_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/job_spec.h"
#include "ggctl/jobfile/problem.h"

namespace gg {

inline constexpr char kApiVersion[] = "gossipgrad.dev/v1";
inline constexpr char kJobKind[] = "TrainingJob";
inline constexpr size_t kMaxJobFileBytes = 256 * 1024;

struct Override {
  std::string assignment;  // "train.epochs=3"
  std::string option;      // as the user wrote it: "--set train.epochs=3", "--workers 4"
};

struct JobFileInput {
  std::string name;  // for messages: "job.yaml", "standard input"
  std::string text;
  std::string folder;               // relative paths of the file count from here
  std::string current_folder;       // and those of overrides from here
  std::vector<Override> overrides;  // applied in order after the file
};

struct JobFile {
  JobSpec spec;                 // meaningful when there are no errors
  std::vector<Problem> errors;  // by place in the file, then those of overrides
  std::vector<Problem> warnings;
  std::string text;  // what positions count in
  bool ok() const { return errors.empty(); }
};

JobFile ParseJobFile(const JobFileInput& input);

// Reads `path` ("-": standard input) whole. kNotFound, kPermissionDenied, kInvalidArgument (a
// folder), kUnavailable (reading failed).
absl::StatusOr<JobFileInput> ReadJobFile(const std::string& path);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOBFILE_JOB_FILE_H_
