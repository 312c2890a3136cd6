// SPDX-License-Identifier: Apache-2.0
//
// One thing wrong with a job file or an override, and how it is shown:
//   job.yaml:12:15: error: spec.exchange.schedule: must be one of dissemination, hypercube, got
//   "hypercub"
//      12 |     schedule: hypercub
//         |               ^
//         = did you mean "hypercube"?
// Thread-safety: values and pure functions.
#ifndef GOSSIPGRAD_GGCTL_JOBFILE_PROBLEM_H_
#define GOSSIPGRAD_GGCTL_JOBFILE_PROBLEM_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ggctl/jobfile/text.h"

namespace gg {

enum class Severity { kError, kWarning };

struct Problem {
  Severity severity = Severity::kError;
  std::string source;  // file name as given, or the option it came from ("--set train.epochs=x")
  Position position;   // {0, 0} when the source is not a file
  std::string path;    // field path, "" when the file as a whole is meant
  std::string message;
  std::string suggestion;  // "" = none
};

// `text` is the file that `position` counts in. Ends with a newline. Long lines are shown around
// the caret.
std::string FormatProblem(const Problem& problem, absl::string_view text, bool color);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOBFILE_PROBLEM_H_
