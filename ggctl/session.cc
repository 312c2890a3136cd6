// SPDX-License-Identifier: Apache-2.0
#include "ggctl/session.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/spec/suggest.h"
#include "ggctl/jobfile/text.h"

namespace gg {

ExitCode Session::Fail(ExitCode code, const std::string& message) {
  *err << (err_terminal.color ? "\x1b[1;31merror:\x1b[0m " : "error: ") << PrintableLines(message)
       << std::endl;
  return code;
}

ExitCode Session::Fail(const absl::Status& status) {
  const std::vector<FieldError> violations = ViolationsOf(status);
  if (violations.empty()) return Fail(ExitCodeOf(status), std::string(status.message()));
  Fail(ExitCode::kUsage, "the coordinator refused the job:");
  for (size_t i = 0; i < std::min(violations.size(), kMostProblemsShown); ++i)
    *err << "  " << Printable(ToString(violations[i])) << "\n";
  HintMore(violations.size());
  return ExitCodeOf(status);
}

ExitCode Session::FailForJob(JobClient* client, const std::string& name,
                             const absl::Status& status) {
  if (!absl::IsNotFound(status)) return Fail(status);
  std::vector<std::string> names;
  if (const auto jobs = client->List(); jobs.ok()) {
    for (const auto& job : *jobs) names.push_back(job.spec().name());
  }
  const std::string near = Nearest(name, names);
  return Fail(ExitCode::kNotFound,
              absl::StrCat("job \"", name, "\" not found",
                           near.empty() ? "; `ggctl get jobs` lists them"
                                        : absl::StrCat("; did you mean \"", near, "\"?")));
}

void Session::Warn(const std::string& message) {
  *err << (err_terminal.color ? "\x1b[1;33mwarning:\x1b[0m " : "warning: ")
       << PrintableLines(message) << std::endl;
}

void Session::Hint(const std::string& message) {
  *err << PrintableLines(message) << std::endl;
}

void Session::HintMore(size_t count) {
  if (count > kMostProblemsShown)
    Hint(absl::StrCat("... and ", count - kMostProblemsShown, " more"));
}

void Session::Print(const std::string& text) {
  *out << PrintableLines(text) << std::flush;
}

}  // namespace gg
