// SPDX-License-Identifier: Apache-2.0
//
// The options of the verbs that take a job file, and reading it with all problems shown.
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_GGCTL_JOB_INPUT_H_
#define GOSSIPGRAD_GGCTL_JOB_INPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "core/spec/job_spec.h"
#include "ggctl/exit_code.h"
#include "ggctl/jobfile/job_file.h"
#include "ggctl/jobfile/problem.h"
#include "ggctl/session.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace gg {

struct JobInput {
  std::string file;
  std::vector<std::string> sets;
};

// -f/--filename and --set.
void AddJobInput(CLI::App& app, JobInput* input);

// The job, or nothing when it has errors; those and all warnings were shown, and `*code` (kUsage,
// kDenied) says what to end with. `more` are overrides of other options and come last. `problems`
// (may be null) receives all that was found, errors first.
std::optional<JobSpec> LoadJob(Session& session, const JobInput& input,
                               const std::vector<Override>& more, ExitCode* code,
                               std::vector<Problem>* problems = nullptr);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOB_INPUT_H_
