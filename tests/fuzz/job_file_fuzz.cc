// SPDX-License-Identifier: Apache-2.0
//
// An input is a job file. Whatever it holds: an answer; errors have places inside the file and can
// be shown; a job without errors is valid and reads back the same from what is written of it.
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "core/spec/validate.h"
#include "ggctl/jobfile/job_file.h"
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/jobfile/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace gg {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

int FuzzOne(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const JobFile file = ParseJobFile({"job.yaml", text, "/jobs", "/", {}});
  const Position end = PositionOf(file.text, file.text.size());
  for (const auto& problems : {file.errors, file.warnings}) {
    for (const Problem& problem : problems) {
      Check(problem.position.line >= 1 && problem.position.line <= end.line);
      Check(problem.position.column >= 1);
      const absl::string_view line = LineOf(file.text, problem.position.line);
      Check(static_cast<size_t>(problem.position.column) <= CountCharacters(line) + 1);
      Check(!FormatProblem(problem, file.text, true).empty());
    }
  }
  if (!file.ok()) return 0;
  Check(Validate(file.spec).empty());
  const JobFile again =
      ParseJobFile({"again.yaml", JsonToYaml(JobFileJson(file.spec)), "/jobs", "/", {}});
  Check(again.ok());
  Check(again.spec == file.spec);
  return 0;
}

}  // namespace gg
