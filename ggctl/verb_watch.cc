// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "ggctl/follow.h"
#include "ggctl/format.h"
#include "ggctl/job_json.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"

namespace gg {

Action AddWatch(CLI::App& app) {
  struct Options {
    std::string name, output;
  };
  auto options = std::make_shared<Options>();
  app.add_option("job", options->name, "Name or id of the job")->required();
  AddOutput(app, &options->output,
            {{"name", "job/NAME when it is over"},
             {"json", "the job as last seen, as one JSON document"},
             kYamlForm});
  return [options](Session& session) {
    Signals signals;
    JobClient client = session.Client();
    gossipgrad::v1::Job job;
    const ExitCode code =
        FollowJob(session, &signals, &client, BareName(options->name), FollowOptions(), &job);
    if (IsDocument(options->output)) {
      if (!job.id().empty()) WriteDocument(session, JobToJson(job), options->output);
    } else if (IsFinal(job.state())) {
      session.Print(options->output == "name" ? absl::StrCat("job/", job.spec().name(), "\n")
                                              : Summary(job));
    }
    return code;
  };
}

}  // namespace gg
