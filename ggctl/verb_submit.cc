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
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"

namespace gg {

namespace {

ExitCode DryRun(Session& session, const JobSpec& spec, const std::string& where,
                const std::string& output) {
  if (where == "server") {
    const auto job = session.Client().Submit(spec, NewRequestId(), /*validate_only=*/true);
    if (!job.ok()) return session.Fail(job.status());
  }
  if (IsDocument(output)) {
    WriteDocument(session, JobFileJson(spec), output);
  } else {
    *session.out << "job/" << spec.name << (output == "name" ? "" : " accepted (dry run)")
                 << std::endl;
  }
  return ExitCode::kOk;
}

}  // namespace

Action AddSubmit(CLI::App& app) {
  struct Options {
    JobInput input;
    bool watch = false, wait = false;
    std::string timeout = "0";
    std::string name;
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
  app.add_option("--name", options->name, "Name of the job instead of that in the file");
  app.add_option("--dry-run", options->dry_run,
                 "client: check the file and send nothing; server: the coordinator checks the job "
                 "too and keeps nothing")
      ->check(CLI::IsMember({"client", "server"}));
  AddOutput(app, &options->output,
            {{"name", "job/NAME"},
             {"json", "the job, with --watch and --wait as last seen, as one JSON document"},
             kYamlForm});
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
    std::vector<Override> overrides;
    if (!options->name.empty()) {
      overrides.push_back(
          {absl::StrCat("metadata.name=", options->name), absl::StrCat("--name ", options->name)});
    }
    const std::optional<JobSpec> spec = LoadJob(session, options->input, overrides, &code);
    if (!spec.has_value()) return code;
    const std::string& output = options->output;
    if (!options->dry_run.empty()) return DryRun(session, *spec, options->dry_run, output);
    const bool follow = options->watch || options->wait;
    std::optional<Signals> signals;  // before gRPC makes threads
    if (follow) signals.emplace();
    JobClient client = session.Client();
    auto job = client.Submit(*spec, NewRequestId(), /*validate_only=*/false);
    if (!job.ok()) {
      code = session.Fail(job.status());
      if (absl::IsDeadlineExceeded(job.status()))
        session.Hint("the job may have been submitted all the same; `ggctl get jobs` tells");
      return code;
    }
    gossipgrad::v1::Job last = *job;
    const bool document = IsDocument(output);
    if (!document)
      *session.out << "job/" << spec->name << (output == "name" ? "" : " submitted") << std::endl;
    if (follow) {
      code = FollowJob(session, &*signals, &client, job->id(), follow_options, &last);
    } else if (output.empty()) {
      session.Hint(absl::StrCat("  follow it:  ggctl watch ", spec->name,
                                "\n  look at it: ggctl describe job ", spec->name));
    }
    if (document) WriteDocument(session, JobToJson(last), output);
    if (follow && output.empty() && IsFinal(last.state())) session.Print(Summary(last));
    return code;
  };
}

}  // namespace gg
