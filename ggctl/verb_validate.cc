// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "ggctl/job_input.h"
#include "ggctl/job_json.h"
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"

namespace gg {

Action AddValidate(CLI::App& app) {
  struct Options {
    JobInput input;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  AddJobInput(app, &options->input);
  AddOutput(app, &options->output,
            {{"json", "the job with all defaults, or the list of its problems, as JSON"},
             {"yaml", "the same as YAML"},
             {"name", "job/NAME"}});
  return [options](Session& session) {
    ExitCode code = ExitCode::kOk;
    std::vector<Problem> problems;
    const auto spec = LoadJob(session, options->input, {}, &code, &problems);
    if (!spec.has_value()) {
      if (IsDocument(options->output))
        WriteDocument(session, ProblemsToJson(problems), options->output);
      return code;
    }
    if (IsDocument(options->output)) {
      WriteDocument(session, JobFileJson(*spec), options->output);
    } else {
      *session.out << "job/" << spec->name << (options->output == "name" ? "" : " is valid")
                   << std::endl;
    }
    return ExitCode::kOk;
  };
}

}  // namespace gg
