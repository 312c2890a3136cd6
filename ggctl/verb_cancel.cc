// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "ggctl/format.h"
#include "ggctl/verb.h"

namespace gg {

Action AddCancel(CLI::App& app) {
  struct Options {
    std::string name;
    std::string reason = "cancelled with ggctl";
  };
  auto options = std::make_shared<Options>();
  app.add_option("job", options->name, "Name or id of the job")->required();
  app.add_option("--reason", options->reason, "Kept with the job")->capture_default_str();
  return [options](Session& session) {
    JobClient client = session.Client();
    const auto before = client.Get(options->name);
    if (!before.ok()) return session.FailForJob(&client, options->name, before.status());
    if (IsFinal(before->state())) {
      session.Hint(absl::StrCat("job/", before->spec().name(),
                                " is over already: ", StateName(before->state())));
      return ExitCode::kOk;
    }
    const auto job = client.Cancel(before->id(), options->reason);
    if (!job.ok()) return session.FailForJob(&client, options->name, job.status());
    session.Print(absl::StrCat("job/", job->spec().name(), " cancelled\n"));
    return ExitCode::kOk;
  };
}

}  // namespace gg
