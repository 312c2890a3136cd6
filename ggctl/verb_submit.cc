// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ggctl/follow.h"
#include "ggctl/format.h"
#include "ggctl/job_input.h"
#include "ggctl/job_json.h"
#include "ggctl/verb.h"

namespace gg {

Action AddSubmit(CLI::App& app) {
  struct Options {
    JobInput input;
    bool watch = false, wait = false;
    std::string timeout = "0";
    std::string dry_run;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  AddJobInput(app, &options->input);
  auto* watch = app.add_flag("--watch", options->watch, "Show the progress until the job is over");
  app.add_flag("--wait", options->wait, "Wait until the job is over, without progress")
      ->excludes(watch);
  app.add_option("--timeout", options->timeout,
                 "How long --watch and --wait wait at most: seconds, or a time such as 1h30m; 0 = "
                 "for ever")
      ->capture_default_str();
  app.add_option("--dry-run", options->dry_run,
                 "server: the coordinator checks the job and keeps nothing")
      ->check(CLI::IsMember({"server"}));
  app.add_option("-o,--output", options->output, "name or json")
      ->check(CLI::IsMember({"name", "json"}));
  return [options](Session& session) {
    FollowOptions follow_options;
    follow_options.progress = options->watch;
    absl::Duration timeout;
    if (!ParseTimeout(options->timeout, &timeout)) {
      return session.Fail(ExitCode::kUsage,
                          absl::StrCat("--timeout: expected seconds, or a time such as 90s, got \"",
                                       options->timeout, "\""));
    }
    if (timeout > absl::ZeroDuration()) follow_options.timeout = timeout;
    ExitCode code = ExitCode::kOk;
    const std::optional<JobSpec> spec = LoadJob(session, options->input, {}, &code);
    if (!spec.has_value()) return code;
    const bool follow = options->watch || options->wait;
    std::optional<Signals> signals;  // before gRPC makes threads
    if (follow) signals.emplace();
    JobClient client = session.Client();
    const bool dry_run = !options->dry_run.empty();
    auto job = client.Submit(*spec, NewRequestId(), dry_run);
    if (!job.ok()) return session.Fail(job.status());
    if (dry_run) {
      *session.out << "job/" << spec->name << " accepted (dry run)" << std::endl;
      return ExitCode::kOk;
    }
    gossipgrad::v1::Job last = *job;
    const bool json = options->output == "json";
    const std::string line =
        absl::StrCat("job/", spec->name, options->output == "name" ? "" : " submitted");
    if (!json) *session.out << line << std::endl;
    if (follow) {
      code = FollowJob(session, &*signals, &client, job->id(), follow_options, &last);
    } else if (options->output.empty()) {
      session.Hint(absl::StrCat("  follow it:  ggctl watch ", spec->name,
                                "\n  look at it: ggctl describe job ", spec->name));
    }
    if (json) *session.out << JobToJson(last).dump(2) << std::endl;
    if (!json && follow && options->output.empty() && IsFinal(last.state()))
      session.Print(Summary(last));
    return code;
  };
}

}  // namespace gg
