// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "ggctl/follow.h"
#include "ggctl/verb.h"

namespace gg {

Action AddWatch(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("job", *name, "Name or id of the job")->required();
  return [name](Session& session) {
    Signals signals;
    JobClient client = session.Client();
    gossipgrad::v1::Job job;
    const ExitCode code = FollowJob(session, &signals, &client, *name, FollowOptions(), &job);
    if (IsFinal(job.state())) session.Print(Summary(job));
    return code;
  };
}

}  // namespace gg
