// SPDX-License-Identifier: Apache-2.0
#include "ggctl/tables.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "ggctl/exit_code.h"
#include "ggctl/format.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

std::string Age(bool has, const google::protobuf::Timestamp& time) {
  return has ? ShortDuration(std::max(0.0, absl::ToDoubleSeconds(absl::Now() - ToTime(time))))
             : "<unknown>";
}

std::string Float(double v) {
  return absl::StrFormat("%.4f", v);
}

// No spaces in values, so that awk can read the table.
std::string OneWord(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '-');
  return text;
}

// Host and port of a worker; what its peers use beside them is for programs.
std::string HostPort(absl::string_view address) {
  address = address.substr(0, address.find(';'));
  absl::ConsumePrefix(&address, "grpc:");
  return std::string(address);
}

// The labels that a worker was started with: rack=3,row=b.
std::string Topology(const v1::WorkerStatus& worker) {
  // The map of protobuf has no order.
  const std::map<std::string, std::string> labels(worker.topology().begin(),
                                                  worker.topology().end());
  return absl::StrJoin(labels, ",", absl::PairFormatter("="));
}

}  // namespace

Rows JobTable(const std::vector<v1::Job>& jobs, bool wide) {
  std::vector<std::string> head = {"NAME", "STATE", "WORKERS", "EPOCH", "STEP", "LOSS", "ACCURACY"};
  if (wide)
    head.insert(head.end(),
                {"ALGORITHM", "SCHEDULE", "PAYLOAD", "SAMPLES/S", "EXPOSED", "ETA", "ID"});
  head.push_back("AGE");
  Rows rows = {head};
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
  return rows;
}

Rows WorkerTable(const std::vector<v1::WorkerStatus>& workers, bool wide) {
  std::vector<std::string> head = {"NAME", "STATE", "JOB", "RANK", "STEP", "SAMPLES/S"};
  if (wide)
    head.insert(head.end(), {"EXPOSED", "SKIPPED", "HOST", "TOPOLOGY", "PID", "ADDRESS",
                             "TRANSPORT", "DEVICE"});
  head.push_back("HEARTBEAT");
  Rows rows = {head};
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
                             w.host(), Topology(w), absl::StrCat(w.pid()), HostPort(w.address()),
                             OneWord(w.transport()), OneWord(w.device())});
    }
    row.push_back(Age(w.has_last_heartbeat(), w.last_heartbeat()));
    rows.push_back(std::move(row));
  }
  return rows;
}

Rows MemberTable(const v1::Job& job, bool wide) {
  std::vector<std::string> head = {"RANK",      "NAME",    "STATE",   "STEP",     "LOSS",
                                   "SAMPLES/S", "EXPOSED", "SKIPPED", "TRANSPORT"};
  if (wide)
    head.insert(head.end(), {"EPOCH", "HOST", "TOPOLOGY", "PID", "ADDRESS", "DEVICE", "HEARTBEAT"});
  head.push_back("REASON");
  Rows rows = {head};
  for (const v1::WorkerStatus& w : job.workers()) {
    std::vector<std::string> row = {w.rank() < 0 ? "" : absl::StrCat(w.rank()),
                                    w.worker_id(),
                                    w.state(),
                                    absl::StrCat(w.step()),
                                    Float(w.loss()),
                                    absl::StrFormat("%.0f", w.samples_per_second()),
                                    Percent(w.comm_wait_ratio()),
                                    absl::StrCat(w.skipped_exchanges()),
                                    OneWord(w.transport())};
    if (wide) {
      row.insert(row.end(), {absl::StrFormat("%.1f", w.epoch()), w.host(), Topology(w),
                             absl::StrCat(w.pid()), HostPort(w.address()), OneWord(w.device()),
                             w.has_last_heartbeat() ? Age(true, w.last_heartbeat()) : ""});
    }
    row.push_back(w.reason());
    rows.push_back(std::move(row));
  }
  return rows;
}

Rows PhaseTable(const v1::JobResult& result) {
  // The map of protobuf has no order.
  const std::map<std::string, double> sorted(result.phase_seconds().begin(),
                                             result.phase_seconds().end());
  double sum = 0;
  for (const auto& [phase, seconds] : sorted) sum += seconds;
  Rows rows = {{"PHASE", "SECONDS", "SHARE"}};
  for (const auto& [phase, seconds] : sorted) {
    rows.push_back(
        {phase, absl::StrFormat("%.3f", seconds), sum > 0 ? Percent(seconds / sum) : ""});
  }
  return rows;
}

}  // namespace gg
