// SPDX-License-Identifier: Apache-2.0
#include "ggctl/job_input.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace gg {

void AddJobInput(CLI::App& app, JobInput* input) {
  app.add_option("-f,--filename", input->file, "Job file; - reads standard input")->required();
  app.add_option("--set", input->sets, "Set a field: train.epochs=3 (repeatable)")
      ->allow_extra_args(false);
}

std::optional<JobFileInput> ReadJob(Session& session, const JobInput& input, ExitCode* code,
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
  return *std::move(text);
}

std::optional<JobSpec> CheckJob(Session& session, const std::string& name, JobFile file,
                                ExitCode* code, std::vector<Problem>* problems) {
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
  *code = session.Fail(ExitCode::kUsage,
                       absl::StrCat(name, ": ", count, count == 1 ? " problem" : " problems"));
  return std::nullopt;
}

std::optional<JobSpec> LoadJob(Session& session, const JobInput& input,
                               const std::vector<Override>& more, ExitCode* code,
                               std::vector<Problem>* problems) {
  std::optional<JobFileInput> text = ReadJob(session, input, code, problems);
  if (!text.has_value()) return std::nullopt;
  text->overrides.insert(text->overrides.end(), more.begin(), more.end());
  return CheckJob(session, text->name, ParseJobFile(*text), code, problems);
}

std::string SetOf(const JobInput& input, std::initializer_list<absl::string_view> paths) {
  for (const std::string& set : input.sets) {
    absl::string_view path =
        absl::StripAsciiWhitespace(absl::string_view(set).substr(0, set.find('=')));
    absl::ConsumePrefix(&path, "spec.");
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) return set;
  }
  return "";
}

bool AddWorkers(Session& session, const JobInput& input, std::optional<int64_t> workers,
                std::vector<Override>* overrides, ExitCode* code) {
  if (!workers.has_value()) return true;
  if (const std::string set = SetOf(input, {"workers.min", "workers.max"}); !set.empty()) {
    *code = session.Fail(ExitCode::kUsage,
                         absl::StrCat("--workers ", *workers, " and --set ", set,
                                      " both set the number of workers; leave one out"));
    return false;
  }
  const std::string option = absl::StrCat("--workers ", *workers);
  overrides->push_back({absl::StrCat("workers.min=", *workers), option});
  overrides->push_back({absl::StrCat("workers.max=", *workers), option});
  return true;
}

}  // namespace gg
