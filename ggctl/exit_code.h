// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of ggctl, a promise to scripts (docs/ggctl.md).
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_EXIT_CODE_H_
#define GOSSIPGRAD_GGCTL_EXIT_CODE_H_

#include "absl/status/status.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

enum class ExitCode {
  kOk = 0,
  kGeneral = 1,
  kUsage = 2,      // command line, job file or data files
  kUnchanged = 3,  // --error-unchanged, and nothing was to do
  kNotFound = 4,
  kConflict = 5,  // exists already, or not possible in this state
  kDenied = 6,
  kUnavailable = 7,  // the coordinator cannot be reached, or died
  kJobFailed = 8,
  kJobCancelled = 9,
  kTimedOut = 124,
  kInterrupted = 130,
};

// For an error of a call.
ExitCode ExitCodeOf(const absl::Status& status);

// For a job in a final state. A job that failed for what it was given (a missing or damaged data
// file, an impossible combination) is kUsage, so that a script does not try again.
ExitCode ExitCodeOf(const gossipgrad::v1::Job& job);

bool IsFinal(gossipgrad::v1::JobState state);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_EXIT_CODE_H_
