// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "ggctl/job_input.h"
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/verb.h"

namespace gg {

Action AddValidate(CLI::App& app) {
  struct Options {
    JobInput input;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  AddJobInput(app, &options->input);
  app.add_option("-o,--output", options->output, "Print the job with all defaults: yaml or json")
      ->check(CLI::IsMember({"yaml", "json"}));
  return [options](Session& session) {
    ExitCode code = ExitCode::kOk;
    const auto spec = LoadJob(session, options->input, {}, &code);
    if (!spec.has_value()) return code;
    if (options->output == "yaml") {
      *session.out << JsonToYaml(JobFileJson(*spec));
    } else if (options->output == "json") {
      *session.out << JobFileJson(*spec).dump(2) << "\n";
    } else {
      *session.out << "job/" << spec->name << " is valid\n";
    }
    *session.out << std::flush;
    return ExitCode::kOk;
  };
}

}  // namespace gg
