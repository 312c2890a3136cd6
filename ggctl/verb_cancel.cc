// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "ggctl/format.h"
#include "ggctl/job_json.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"

namespace gg {

namespace {

struct CancelOptions {
  std::string name;
  std::string reason = "cancelled with ggctl";
  bool error_unchanged = false;
  std::string output;
};

void Show(Session& session, const CancelOptions& options, const gossipgrad::v1::Job& job,
          const char* verbed) {
  const std::string name = absl::StrCat("job/", job.spec().name());
  if (IsDocument(options.output)) {
    WriteDocument(session, JobToJson(job), options.output);
  } else if (options.output == "name") {
    session.Print(absl::StrCat(name, "\n"));
  } else if (*verbed != '\0') {
    session.Print(absl::StrCat(name, " ", verbed, "\n"));
  }
}

}  // namespace

Action AddCancel(CLI::App& app) {
  auto options = std::make_shared<CancelOptions>();
  app.add_option("job", options->name, "Name or id of the job")->required();
  app.add_option("--reason", options->reason, "Kept with the job")->capture_default_str();
  app.add_flag("--error-unchanged", options->error_unchanged,
               "End with code 3 when the job is over already");
  AddOutput(app, &options->output, {{"name", "job/NAME"}, kJsonForm, kYamlForm});
  return [options](Session& session) {
    const std::string name = BareName(options->name);
    JobClient client = session.Client();
    const auto before = client.Get(name);
    if (!before.ok()) return session.FailForJob(&client, name, before.status());
    if (IsFinal(before->state())) {
      session.Hint(absl::StrCat("job/", before->spec().name(),
                                " is over already: ", StateName(before->state())));
      Show(session, *options, *before, "");
      return options->error_unchanged ? ExitCode::kUnchanged : ExitCode::kOk;
    }
    const auto job = client.Cancel(before->id(), options->reason);
    if (!job.ok()) return session.FailForJob(&client, name, job.status());
    Show(session, *options, *job, "cancelled");
    return ExitCode::kOk;
  };
}

}  // namespace gg
