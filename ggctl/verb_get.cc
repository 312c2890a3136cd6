// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/spec/suggest.h"
#include "ggctl/format.h"
#include "ggctl/job_json.h"
#include "ggctl/jobfile/text.h"
#include "ggctl/output.h"
#include "ggctl/selector.h"
#include "ggctl/tables.h"
#include "ggctl/verb.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

using Json = nlohmann::ordered_json;

struct GetOptions {
  std::string kind;
  std::vector<std::string> names;
  std::string state;
  std::string selector;
  bool no_headers = false;
  std::string output;
};

// Prints a list in the wanted form; `table` makes the rows of the default and of "wide".
template <typename Item, typename ToJson, typename ToTable, typename NameOf>
void Print(Session& session, const GetOptions& options, const char* list_kind,
           const char* name_kind, const std::vector<Item>& items, ToJson to_json, ToTable to_table,
           NameOf name_of) {
  if (options.output == "name") {
    for (const Item& item : items)
      session.Print(absl::StrCat(name_kind, "/", Printable(name_of(item)), "\n"));
  } else if (IsDocument(options.output)) {
    std::vector<Json> documents;
    for (const Item& item : items) documents.push_back(to_json(item));
    WriteDocument(session, ListToJson(list_kind, std::move(documents)), options.output);
  } else if (items.empty()) {
    session.Hint(absl::StrCat("no ", name_kind, "s"));
  } else {
    Rows rows = to_table(items, options.output == "wide");
    if (options.no_headers) rows.erase(rows.begin());
    session.Print(Table(rows));
  }
}

bool HasState(const GetOptions& options, const std::string& state) {
  return options.state.empty() ||
         absl::AsciiStrToLower(options.state) == absl::AsciiStrToLower(state);
}

ExitCode GetJobs(Session& session, const GetOptions& options) {
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(options.selector);
  if (!selector.ok())
    return session.Fail(ExitCode::kUsage, std::string(selector.status().message()));
  JobClient client = session.Client();
  std::vector<v1::Job> jobs;
  if (options.names.empty()) {
    auto all = client.List();
    if (!all.ok()) return session.Fail(all.status());
    jobs = *std::move(all);
    // As they were submitted: the newest is the last, next to the prompt.
    std::stable_sort(jobs.begin(), jobs.end(), [](const v1::Job& a, const v1::Job& b) {
      return ToTime(a.created()) < ToTime(b.created());
    });
  }
  for (const std::string& given : options.names) {
    const std::string name = BareName(given);
    auto job = client.Get(name);
    if (!job.ok()) return session.FailForJob(&client, name, job.status());
    jobs.push_back(*std::move(job));
  }
  std::erase_if(jobs, [&](const v1::Job& job) {
    return !HasState(options, StateName(job.state())) || !selector->Matches(job.spec().labels());
  });
  Print(session, options, "JobList", "job", jobs, JobToJson, JobTable,
        [](const v1::Job& j) { return j.spec().name(); });
  return ExitCode::kOk;
}

ExitCode GetWorkers(Session& session, const GetOptions& options) {
  if (!options.selector.empty())
    return session.Fail(ExitCode::kUsage, "workers have no labels; -l selects jobs");
  JobClient client = session.Client();
  auto all = client.ListWorkers();
  if (!all.ok()) return session.Fail(all.status());
  std::stable_sort(all->begin(), all->end(),
                   [](const v1::WorkerStatus& a, const v1::WorkerStatus& b) {
                     return NaturalLess(a.worker_id(), b.worker_id());
                   });
  std::vector<v1::WorkerStatus> workers;
  for (const std::string& name : options.names) {
    const auto it = std::find_if(all->begin(), all->end(),
                                 [&](const auto& w) { return w.worker_id() == name; });
    if (it == all->end()) {
      std::vector<std::string> known;
      for (const v1::WorkerStatus& worker : *all) known.push_back(worker.worker_id());
      const std::string near = Nearest(name, known);
      return session.Fail(
          ExitCode::kNotFound,
          absl::StrCat("worker \"", name, "\" not found",
                       near.empty() ? "; `ggctl get workers` lists them"
                                    : absl::StrCat("; did you mean \"", near, "\"?")));
    }
    workers.push_back(*it);
  }
  if (options.names.empty()) workers = *std::move(all);
  std::erase_if(workers, [&](const auto& w) { return !HasState(options, w.state()); });
  Print(session, options, "WorkerList", "worker", workers, WorkerToJson, WorkerTable,
        [](const v1::WorkerStatus& w) { return w.worker_id(); });
  return ExitCode::kOk;
}

}  // namespace

Action AddGet(CLI::App& app) {
  auto options = std::make_shared<GetOptions>();
  app.add_option("kind", options->kind,
                 "jobs, in the order of their submission, or workers, by name")
      ->required();
  app.add_option("names", options->names, "Only these, in this order");
  app.add_option("--state", options->state, "Only those in this state, for example running");
  app.add_option("-l,--selector", options->selector,
                 "Only jobs with these labels: team=vision,tier!=test,owner,!old");
  app.add_flag("--no-headers", options->no_headers, "Tables without their first line");
  AddOutput(app, &options->output,
            {{"wide", "more columns"},
             {"name", "job/NAME or worker/NAME, one a line"},
             {"json", "one JSON document of kind JobList or WorkerList"},
             kYamlForm});
  return [options](Session& session) {
    const std::string& kind = options->kind;
    if (kind == "jobs" || kind == "job") return GetJobs(session, *options);
    if (kind == "workers" || kind == "worker") return GetWorkers(session, *options);
    const std::string near = Nearest(kind, {"jobs", "workers"});
    return session.Fail(ExitCode::kUsage,
                        absl::StrCat("cannot get \"", kind, "\"; ",
                                     near.empty() ? "known: jobs, workers"
                                                  : absl::StrCat("did you mean \"", near, "\"?")));
  };
}

}  // namespace gg
