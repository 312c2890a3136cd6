// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/spec/suggest.h"
#include "ggctl/format.h"
#include "ggctl/job_json.h"
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/jobfile/text.h"
#include "ggctl/verb.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

using Json = nlohmann::ordered_json;

struct GetOptions {
  std::string kind;
  std::vector<std::string> names;
  std::string output;
};

std::string Age(bool has, const google::protobuf::Timestamp& time) {
  return has ? ShortDuration(std::max(0.0, absl::ToDoubleSeconds(absl::Now() - ToTime(time))))
             : "<unknown>";
}

std::string Float(double v) {
  return absl::StrFormat("%.4f", v);
}

std::string JobTable(const std::vector<v1::Job>& jobs, bool wide) {
  std::vector<std::string> head = {"NAME", "STATE", "WORKERS", "EPOCH", "STEP", "LOSS", "ACCURACY"};
  if (wide)
    head.insert(head.end(),
                {"ALGORITHM", "SCHEDULE", "PAYLOAD", "SAMPLES/S", "EXPOSED", "ETA", "ID"});
  head.push_back("AGE");
  std::vector<std::vector<std::string>> rows = {head};
  for (const v1::Job& job : jobs) {
    const v1::JobProgress& p = job.progress();
    const bool begun = p.step() > 0;
    const double accuracy = job.has_result() ? job.result().test_accuracy() : p.test_accuracy();
    std::vector<std::string> row = {
        job.spec().name(),
        StateName(job.state()),
        absl::StrCat(job.workers_size(), "/", job.spec().workers().max()),
        begun ? absl::StrFormat("%.1f/%d", p.epoch(), p.total_epochs()) : "",
        begun ? absl::StrCat(p.step(), "/", p.total_steps()) : "",
        begun ? Float(p.loss()) : "",
        begun && accuracy >= 0 ? Percent(accuracy) : ""};
    if (wide) {
      row.insert(row.end(), {job.spec().exchange().algorithm(), job.spec().exchange().schedule(),
                             job.spec().exchange().payload(),
                             begun ? absl::StrFormat("%.0f", p.samples_per_second()) : "",
                             begun ? Percent(p.comm_wait_ratio()) : "",
                             begun && p.eta_seconds() >= 0 && !IsFinal(job.state())
                                 ? ShortDuration(p.eta_seconds())
                                 : "",
                             job.id()});
    }
    row.push_back(Age(job.has_created(), job.created()));
    rows.push_back(std::move(row));
  }
  return Table(rows);
}

std::string WorkerTable(const std::vector<v1::WorkerStatus>& workers, bool wide) {
  std::vector<std::string> head = {"NAME", "STATE", "JOB", "RANK", "STEP", "SAMPLES/S"};
  if (wide)
    head.insert(head.end(),
                {"EXPOSED", "SKIPPED", "HOST", "PID", "ADDRESS", "TRANSPORT", "DEVICE"});
  head.push_back("HEARTBEAT");
  const auto one_word = [](std::string text) {
    std::replace(text.begin(), text.end(), ' ',
                 '-');  // no spaces in values, so that awk can read the table
    return text;
  };
  std::vector<std::vector<std::string>> rows = {head};
  for (const v1::WorkerStatus& w : workers) {
    const bool ranked = w.rank() >= 0 && !w.job().empty();
    std::vector<std::string> row = {w.worker_id(),
                                    w.state(),
                                    w.job(),
                                    ranked ? absl::StrCat(w.rank()) : "",
                                    ranked ? absl::StrCat(w.step()) : "",
                                    ranked ? absl::StrFormat("%.0f", w.samples_per_second()) : ""};
    if (wide) {
      row.insert(row.end(), {Percent(w.comm_wait_ratio()), absl::StrCat(w.skipped_exchanges()),
                             w.host(), absl::StrCat(w.pid()), w.address(), one_word(w.transport()),
                             one_word(w.device())});
    }
    row.push_back(Age(w.has_last_heartbeat(), w.last_heartbeat()));
    rows.push_back(std::move(row));
  }
  return Table(rows);
}

// Prints a list in the wanted form; `table` makes the text of the default and of "wide".
template <typename Item, typename ToJson, typename ToTable, typename NameOf>
void Print(Session& session, const GetOptions& options, const char* list_kind,
           const char* name_kind, const std::vector<Item>& items, ToJson to_json, ToTable to_table,
           NameOf name_of) {
  std::ostream& out = *session.out;
  if (options.output == "name") {
    for (const Item& item : items)
      session.Print(absl::StrCat(name_kind, "/", Printable(name_of(item)), "\n"));
  } else if (options.output == "json" || options.output == "yaml") {
    std::vector<Json> documents;
    for (const Item& item : items) documents.push_back(to_json(item));
    const Json list = ListToJson(list_kind, std::move(documents));
    out << (options.output == "json" ? list.dump(2) + "\n" : JsonToYaml(list));
  } else if (items.empty()) {
    session.Hint(absl::StrCat("no ", name_kind, "s"));
  } else {
    session.Print(to_table(items, options.output == "wide"));
  }
  out << std::flush;
}

ExitCode GetJobs(Session& session, const GetOptions& options) {
  JobClient client = session.Client();
  std::vector<v1::Job> jobs;
  if (options.names.empty()) {
    auto all = client.List();
    if (!all.ok()) return session.Fail(all.status());
    jobs = *std::move(all);
  }
  for (const std::string& name : options.names) {
    auto job = client.Get(name);
    if (!job.ok()) return session.FailForJob(&client, name, job.status());
    jobs.push_back(*std::move(job));
  }
  Print(session, options, "JobList", "job", jobs, JobToJson, JobTable,
        [](const v1::Job& j) { return j.spec().name(); });
  return ExitCode::kOk;
}

ExitCode GetWorkers(Session& session, const GetOptions& options) {
  JobClient client = session.Client();
  auto all = client.ListWorkers();
  if (!all.ok()) return session.Fail(all.status());
  std::vector<v1::WorkerStatus> workers;
  for (v1::WorkerStatus& worker : *all) {
    const bool wanted = options.names.empty() ||
                        std::find(options.names.begin(), options.names.end(), worker.worker_id()) !=
                            options.names.end();
    if (wanted) workers.push_back(std::move(worker));
  }
  if (workers.size() < options.names.size())
    return session.Fail(ExitCode::kNotFound, "no such worker");
  Print(session, options, "WorkerList", "worker", workers, WorkerToJson, WorkerTable,
        [](const v1::WorkerStatus& w) { return w.worker_id(); });
  return ExitCode::kOk;
}

}  // namespace

Action AddGet(CLI::App& app) {
  auto options = std::make_shared<GetOptions>();
  app.add_option("kind", options->kind, "jobs or workers")->required();
  app.add_option("names", options->names, "Only these");
  app.add_option("-o,--output", options->output, "wide, json, yaml or name")
      ->check(CLI::IsMember({"wide", "json", "yaml", "name"}));
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
