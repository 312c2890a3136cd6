// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ggctl/follow.h"
#include "ggctl/format.h"
#include "ggctl/job_json.h"
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/jobfile/text.h"
#include "ggctl/output.h"
#include "ggctl/progress.h"
#include "ggctl/tables.h"
#include "ggctl/verb.h"
#include "proto/codec/job_spec_codec.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

std::string Indented(const std::string& text) {
  std::string out = "  ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string OrNone(const std::string& text) {
  return text.empty() ? "<none>" : Printable(text);
}

std::string Describe(const v1::Job& job, bool wide) {
  std::string out = absl::StrCat(
      "Name:      ", OrNone(job.spec().name()), "\nId:        ", OrNone(job.id()),
      "\nState:     ", StateName(job.state()), "\nReason:    ", OrNone(job.reason()),
      "\nCreated:   ", OrNone(Rfc3339(job.created())),
      "\nStarted:   ", OrNone(Rfc3339(job.started())),
      "\nFinished:  ", OrNone(Rfc3339(job.finished())), "\nView:      ", job.view(), "\n");
  if (job.progress().step() > 0) absl::StrAppend(&out, "Progress:  ", RenderLine(job), "\n");
  absl::StrAppend(&out, "Spec:\n", Indented(JsonToYaml(SpecToJson(FromProto(job.spec())))));

  if (job.has_result()) absl::StrAppend(&out, "Result:\n", Indented(Summary(job)));
  if (wide && job.result().phase_seconds_size() > 0)
    absl::StrAppend(&out, "Time by phase:\n", Indented(Table(PhaseTable(job.result()))));
  if (job.conditions_size() > 0) {
    std::vector<std::vector<std::string>> rows = {{"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"}};
    for (const v1::Condition& c : job.conditions()) {
      rows.push_back(
          {c.type(), c.status(), c.reason(), Rfc3339(c.last_transition_time()), c.message()});
    }
    absl::StrAppend(&out, "Conditions:\n", Indented(Table(rows)));
  }
  if (job.workers_size() > 0) {
    absl::StrAppend(&out, "Workers:\n", Indented(Table(MemberTable(job, wide))));
  }
  if (job.events_size() > 0) {
    std::vector<std::vector<std::string>> rows = {{"TIME", "TYPE", "REASON", "WORKER", "MESSAGE"}};
    for (const v1::JobEvent& e : job.events()) {
      rows.push_back({Rfc3339(e.time()), e.type(), e.reason(), e.worker_id(), e.message()});
    }
    absl::StrAppend(&out, "Events:\n", Indented(Table(rows)));
  }
  return out;
}

}  // namespace

Action AddDescribe(CLI::App& app) {
  struct Options {
    std::string kind, name, output;
  };
  auto options = std::make_shared<Options>();
  app.add_option("kind", options->kind, "job, or job/NAME in one word")->required();
  app.add_option("name", options->name, "Name or id of the job");
  AddOutput(app, &options->output,
            {{"wide", "more of each worker, and the time by phase"}, kJsonForm, kYamlForm});
  return [options](Session& session) {
    std::string kind = options->kind, name = options->name;
    if (const size_t slash = kind.find('/'); slash != std::string::npos && name.empty()) {
      name = kind.substr(slash + 1);
      kind.resize(slash);
    }
    if (kind != "job" && kind != "jobs") {
      return session.Fail(ExitCode::kUsage,
                          absl::StrCat("cannot describe \"", kind, "\"; known: job"));
    }
    if (name.empty())
      return session.Fail(ExitCode::kUsage, "name the job: `ggctl describe job NAME`");
    JobClient client = session.Client();
    const auto job = client.Get(BareName(name));
    if (!job.ok()) return session.FailForJob(&client, BareName(name), job.status());
    if (IsDocument(options->output)) {
      WriteDocument(session, JobToJson(*job), options->output);
    } else {
      session.Print(Describe(*job, options->output == "wide"));
    }
    return ExitCode::kOk;
  };
}

}  // namespace gg
