// SPDX-License-Identifier: Apache-2.0
#include "ggctl/job_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "core/spec/job_spec.h"
#include "ggctl/format.h"
#include "ggctl/jobfile/job_file.h"
#include "ggctl/jobfile/spec_writer.h"
#include "proto/codec/job_spec_codec.h"

namespace gg {

namespace v1 = gossipgrad::v1;
using Json = nlohmann::ordered_json;

namespace {

Json Time(bool has, const google::protobuf::Timestamp& time) {
  const std::string text = has ? Rfc3339(time) : "";
  return text.empty() ? Json(nullptr) : Json(text);
}

// JSON has no infinity and no NaN, and a negative number stands for "not known" where the contract
// says so.
Json Number(double v) {
  return std::isfinite(v) ? Json(v) : Json(nullptr);
}
Json NumberOrUnknown(double v) {
  return v >= 0 ? Number(v) : Json(nullptr);
}

template <typename Repeated>
Json Numbers(const Repeated& values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(Number(v));
  return list;
}

Json PhasesToJson(const v1::JobResult& result) {
  // The map of protobuf has no order; a stable text needs one.
  const std::map<std::string, double> sorted(result.phase_seconds().begin(),
                                             result.phase_seconds().end());
  Json phases = Json::object();
  for (const auto& [name, seconds] : sorted) phases[name] = Number(seconds);
  return phases;
}

Json ResultToJson(const v1::JobResult& r) {
  return {{"test_accuracy", NumberOrUnknown(r.test_accuracy())},
          {"test_loss", NumberOrUnknown(r.test_loss())},
          {"replica_accuracy", Numbers(r.replica_accuracy())},
          {"train_loss", Numbers(r.train_loss())},
          {"test_accuracy_by_epoch", Numbers(r.epoch_test_accuracy())},
          {"steps", r.steps()},
          {"epochs", Number(r.epochs())},
          {"samples_per_second", Number(r.samples_per_second())},
          {"train_seconds", Number(r.train_seconds())},
          {"sent_bytes_per_step", Number(r.sent_bytes_per_step())},
          {"messages_per_step", Number(r.messages_per_step())},
          {"comm_wait_ratio", Number(r.comm_wait_ratio())},
          {"consensus_distance", NumberOrUnknown(r.consensus_distance())},
          {"skipped_exchanges", r.skipped_exchanges()},
          {"trades_late", r.trades_late()},
          {"parameter_count", r.parameter_count()},
          {"parameter_norm", Number(r.parameter_norm())},
          {"model_checksum", ChecksumText(r.model_checksum())},
          {"phase_seconds", PhasesToJson(r)}};
}

// With one decimal, as far as the slowest worker is; null while the number of steps is not known.
Json ProgressPercent(const v1::JobProgress& p) {
  if (p.total_steps() == 0) return nullptr;
  const double share = static_cast<double>(p.step()) / static_cast<double>(p.total_steps());
  return std::floor(std::min(share, 1.0) * 1000) / 10;
}

Json PointToJson(const v1::EpochPoint& p) {
  return {{"epoch", p.epoch()},
          {"step", p.step()},
          {"seconds", Number(p.train_seconds())},
          {"sent_bytes", Number(p.sent_bytes())},
          {"train_loss", Number(p.train_loss())},
          {"test_accuracy", NumberOrUnknown(p.test_accuracy())},
          {"consensus_distance", NumberOrUnknown(p.consensus_distance())},
          {"comm_wait_ratio", Number(p.comm_wait_ratio())}};
}

Json ProgressToJson(const v1::JobProgress& p) {
  return {{"step", p.step()},
          {"total_steps", p.total_steps() == 0 ? Json(nullptr) : Json(p.total_steps())},
          {"percent", ProgressPercent(p)},
          {"epoch", Number(p.epoch())},
          {"total_epochs", p.total_epochs()},
          {"loss", Number(p.loss())},
          {"learning_rate", Number(p.learning_rate())},
          {"samples_per_second", Number(p.samples_per_second())},
          {"comm_wait_ratio", Number(p.comm_wait_ratio())},
          {"test_accuracy", NumberOrUnknown(p.test_accuracy())},
          {"eta_seconds", NumberOrUnknown(p.eta_seconds())},
          {"last_updated", Time(p.has_last_updated(), p.last_updated())},
          {"curve", CurveToJson(p)}};
}

}  // namespace

std::string ChecksumText(uint64_t checksum) {
  return absl::StrFormat("%016x", checksum);
}

Json CurveToJson(const v1::JobProgress& progress) {
  Json curve = Json::array();
  for (const v1::EpochPoint& point : progress.curve()) curve.push_back(PointToJson(point));
  return curve;
}

Json WorkerToJson(const v1::WorkerStatus& w) {
  return {
      {"name", w.worker_id()},
      {"state", w.state()},
      {"job", w.job()},
      {"rank", w.rank() < 0 ? Json(nullptr) : Json(w.rank())},
      {"host", w.host()},
      {"topology", std::map<std::string, std::string>(w.topology().begin(), w.topology().end())},
      {"pid", w.pid()},
      {"address", w.address()},
      {"transport", w.transport()},
      {"device", w.device()},
      {"step", w.step()},
      {"epoch", Number(w.epoch())},
      {"loss", Number(w.loss())},
      {"samples_per_second", Number(w.samples_per_second())},
      {"comm_wait_ratio", Number(w.comm_wait_ratio())},
      {"skipped_exchanges", w.skipped_exchanges()},
      {"reason", w.reason()},
      {"last_heartbeat", Time(w.has_last_heartbeat(), w.last_heartbeat())}};
}

Json JobToJson(const v1::Job& job) {
  Json json = JobFileJson(FromProto(job.spec()));
  Json& metadata = json["metadata"];
  metadata["id"] = job.id();
  metadata["created"] = Time(job.has_created(), job.created());
  metadata["revision"] = job.revision();
  Json status = {{"state", StateName(job.state())},
                 {"reason", job.reason()},
                 {"failure_code", job.failure_code()},
                 {"started", Time(job.has_started(), job.started())},
                 {"finished", Time(job.has_finished(), job.finished())},
                 {"view", job.view()},
                 {"progress", job.has_progress() ? ProgressToJson(job.progress()) : Json(nullptr)},
                 {"result", job.has_result() ? ResultToJson(job.result()) : Json(nullptr)}};
  Json workers = Json::array(), conditions = Json::array(), events = Json::array();
  for (const v1::WorkerStatus& worker : job.workers()) workers.push_back(WorkerToJson(worker));
  for (const v1::Condition& c : job.conditions()) {
    conditions.push_back(
        {{"type", c.type()},
         {"status", c.status()},
         {"reason", c.reason()},
         {"message", c.message()},
         {"last_transition_time", Time(c.has_last_transition_time(), c.last_transition_time())}});
  }
  for (const v1::JobEvent& e : job.events()) {
    events.push_back({{"time", Time(e.has_time(), e.time())},
                      {"type", e.type()},
                      {"reason", e.reason()},
                      {"message", e.message()},
                      {"worker", e.worker_id()}});
  }
  status["workers"] = std::move(workers);
  status["conditions"] = std::move(conditions);
  status["events"] = std::move(events);
  json["status"] = std::move(status);
  return json;
}

Json ListToJson(const char* kind, std::vector<Json> items) {
  return {{"apiVersion", kApiVersion}, {"kind", kind}, {"items", Json(std::move(items))}};
}

Json ProblemsToJson(const std::vector<Problem>& problems) {
  const auto text = [](const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); };
  std::vector<Json> items;
  for (const Problem& p : problems) {
    const bool placed = p.position.line > 0;
    items.push_back({{"severity", p.severity == Severity::kError ? "error" : "warning"},
                     {"source", p.source},
                     {"line", placed ? Json(p.position.line) : Json(nullptr)},
                     {"column", placed ? Json(p.position.column) : Json(nullptr)},
                     {"field", text(p.path)},
                     {"message", p.message},
                     {"suggestion", text(p.suggestion)}});
  }
  return ListToJson("ProblemList", std::move(items));
}

Json OutcomeToJson(const RunOutcome& outcome) {
  const v1::Job& job = outcome.job;
  const JobSpec spec = FromProto(job.spec());
  Json json = {{"job", spec.name},
               {"state", outcome.state},
               {"reason", outcome.reason},
               {"culprit", outcome.culprit},
               {"exit_code", outcome.exit_code},
               {"workers", outcome.workers},
               {"threads_per_worker", outcome.threads_per_worker},
               {"model", spec.model.name},
               {"seed", spec.train.seed},
               {"algorithm", spec.exchange.algorithm},
               {"schedule", spec.exchange.schedule},
               {"payload", spec.exchange.payload},
               {"overlap", spec.exchange.overlap},
               {"batch_size", spec.train.batch_size}};
  v1::JobResult result = job.result();
  const bool known = job.has_result();
  if (!known) {
    // How far it came.
    result.set_steps(job.progress().step());
    result.set_epochs(job.progress().epoch());
    result.set_samples_per_second(job.progress().samples_per_second());
    result.set_comm_wait_ratio(job.progress().comm_wait_ratio());
    result.set_test_accuracy(-1);
  }
  json.update(ResultToJson(result));
  if (!known) {
    for (const char* key : {"test_loss", "train_seconds", "sent_bytes_per_step",
                            "messages_per_step", "consensus_distance", "skipped_exchanges",
                            "trades_late", "parameter_count", "parameter_norm", "model_checksum"}) {
      json[key] = nullptr;
    }
  }
  json["wall_seconds"] = Number(outcome.wall_seconds);
  return json;
}

}  // namespace gg
