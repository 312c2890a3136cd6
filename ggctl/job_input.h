// SPDX-License-Identifier: Apache-2.0
//
// The options of the verbs that take a job file, and reading it with all problems shown.
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_GGCTL_JOB_INPUT_H_
#define GOSSIPGRAD_GGCTL_JOB_INPUT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
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

// The text of the job with the overrides of --set, or nothing when it cannot be read: then that was
// shown, and `*code` says what to end with.
std::optional<JobFileInput> ReadJob(Session& session, const JobInput& input, ExitCode* code,
                                    std::vector<Problem>* problems = nullptr);

// Shows the problems of the job file `name` that was read, errors first. Then as LoadJob.
std::optional<JobSpec> CheckJob(Session& session, const std::string& name, JobFile file,
                                ExitCode* code, std::vector<Problem>* problems = nullptr);

// The job, or nothing when it has errors; those and all warnings were shown, and `*code` (kUsage,
// kDenied) says what to end with. `more` are overrides of other options and come last. `problems`
// (may be null) receives all that was found, errors first.
std::optional<JobSpec> LoadJob(Session& session, const JobInput& input,
                               const std::vector<Override>& more, ExitCode* code,
                               std::vector<Problem>* problems = nullptr);

// Options of the verbs that run a cluster of their own.
inline constexpr char kWorkersHelp[] =
    "Number of workers; sets workers.min and workers.max, which --set must not name then";
inline constexpr char kBinDirHelp[] =
    "Folder of gg-coordinator and gg-worker; default: that of ggctl";

// The first --set of one of these fields ("workers.min"), as it was written; "" when there is none.
std::string SetOf(const JobInput& input, std::initializer_list<absl::string_view> paths);

// Adds what --workers sets, if it was given, to `*overrides`. False, with the mistake shown, when
// --set names the same.
bool AddWorkers(Session& session, const JobInput& input, std::optional<int64_t> workers,
                std::vector<Override>* overrides, ExitCode* code);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOB_INPUT_H_
