// SPDX-License-Identifier: Apache-2.0
#include "ggctl/job_input.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gg {

void AddJobInput(CLI::App& app, JobInput* input) {
  app.add_option("-f,--filename", input->file, "Job file; - reads standard input")->required();
  app.add_option("--set", input->sets, "Set a field: train.epochs=3 (repeatable)")
      ->allow_extra_args(false);
}

std::optional<JobSpec> LoadJob(Session& session, const JobInput& input,
                               const std::vector<Override>& more, ExitCode* code,
                               std::vector<Problem>* problems) {
  auto text = ReadJobFile(input.file);
  if (!text.ok()) {
    // A file that is not there is a mistake of the command line, not a missing job.
    *code = absl::IsPermissionDenied(text.status()) ? ExitCode::kDenied
            : absl::IsUnavailable(text.status())    ? ExitCode::kGeneral
                                                    : ExitCode::kUsage;
    const std::string message(text.status().message());
    session.Fail(*code, message);
    if (problems != nullptr) {
      Problem problem;
      problem.source = input.file;
      problem.message = message;
      problems->push_back(std::move(problem));
    }
    return std::nullopt;
  }
  for (const std::string& set : input.sets)
    text->overrides.push_back({set, absl::StrCat("--set ", set)});
  text->overrides.insert(text->overrides.end(), more.begin(), more.end());
  JobFile file = ParseJobFile(*text);
  const bool color = session.err_terminal.color;
  for (const std::vector<Problem>* found : {&file.errors, &file.warnings}) {
    for (size_t i = 0; i < std::min(found->size(), kMostProblemsShown); ++i)
      *session.err << FormatProblem((*found)[i], file.text, color);
    session.HintMore(found->size());
    if (problems != nullptr) problems->insert(problems->end(), found->begin(), found->end());
  }
  *session.err << std::flush;
  if (file.ok()) return std::move(file.spec);
  const size_t count = file.errors.size();
  *code = session.Fail(ExitCode::kUsage, absl::StrCat(text->name, ": ", count,
                                                      count == 1 ? " problem" : " problems"));
  return std::nullopt;
}

}  // namespace gg
