// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/coordinator/state/transcript.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace gg {

struct Transcript::Words {
  std::vector<std::string> plain;
  std::map<std::string, std::string> named;

  explicit Words(const std::string& line) {
    for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(word, absl::MaxSplits('=', 1));
      if (absl::StrContains(word, '=')) {
        named[parts.first] = parts.second;
      } else {
        plain.emplace_back(word);
      }
    }
  }
  std::string At(size_t i) const { return i < plain.size() ? plain[i] : ""; }
  std::string Rest(size_t i) const {
    return i < plain.size() ? absl::StrJoin(plain.begin() + static_cast<long>(i), plain.end(), " ")
                            : "";
  }
  bool Has(const std::string& word) const {
    return std::find(plain.begin(), plain.end(), word) != plain.end();
  }
  std::string Text(const std::string& key, std::string fallback) const {
    const auto it = named.find(key);
    return it == named.end() ? fallback : it->second;
  }
  double Number(const std::string& key, double fallback) const {
    const auto it = named.find(key);
    return it == named.end() ? fallback : std::atof(it->second.c_str());
  }
  uint64_t Count(const std::string& key, uint64_t fallback) const {
    return static_cast<uint64_t>(Number(key, static_cast<double>(fallback)));
  }
};

namespace {

std::string Show(const Command& command) {
  const std::string to = absl::StrCat("  -> ", command.worker_id, " ");
  if (std::holds_alternative<command::Welcome>(command.body)) return to + "Welcome\n";
  if (const auto* assign = std::get_if<command::Assign>(&command.body)) {
    std::vector<std::string> members;
    for (const Member& member : assign->view.members) members.push_back(member.worker_id);
    return absl::StrCat(to, "Assign ", assign->job_id, " rank ", assign->rank, " of view ",
                        assign->view.number, " [", absl::StrJoin(members, " "), "]\n");
  }
  if (const auto* begin = std::get_if<command::Begin>(&command.body)) {
    return absl::StrCat(to, "Begin ", begin->job_id, " view ", begin->view, "\n");
  }
  if (const auto* stop = std::get_if<command::Stop>(&command.body)) {
    return absl::StrCat(to, "Stop ", stop->job_id, ": ", stop->reason, "\n");
  }
  return absl::StrCat(to, "HangUp ", std::get<command::HangUp>(command.body).why.ToString(), "\n");
}

std::string Show(const Decision& decision) {
  std::string out;
  if (!decision.status.ok()) absl::StrAppend(&out, decision.status.ToString(), "\n");
  for (const std::string& line : decision.log) absl::StrAppend(&out, line, "\n");
  for (const Event& event : decision.events) {
    if (const auto* pending = std::get_if<event::PendingExplained>(&event)) {
      absl::StrAppend(&out, pending->job_id, " PENDING: ", pending->reason, "\n");
    }
  }
  for (const Command& command : decision.commands) absl::StrAppend(&out, Show(command));
  return out;
}

}  // namespace

std::string Transcript::Step(const Input& input) {
  const Decision decision = Decide(state_, input, now_);
  for (const Event& event : decision.events) {
    if (IsDurable(event)) durable_.push_back(event);
    Apply(event, &state_);
  }
  std::string out = Show(decision);
  const bool asked = std::holds_alternative<input::SubmitJob>(input) ||
                     std::holds_alternative<input::CancelJob>(input);
  if (asked && decision.status.ok() && decision.events.empty()) {
    absl::StrAppend(&out, "nothing changes: ", decision.job_id, " is ",
                    Name(FindJobById(state_, decision.job_id)->state), "\n");
  }
  return out;
}

std::string Transcript::Quiesce(absl::Duration stalled) {
  std::string out;
  for (int rounds = 0; rounds < 1000; ++rounds) {
    const size_t events = Decide(state_, input::Tick{stalled}, now_).events.size();
    absl::StrAppend(&out, Step(input::Tick{stalled}));
    if (events == 0) return out;
    stalled = absl::ZeroDuration();
  }
  return out + "THE TICKS DO NOT END\n";
}

std::string Transcript::Restart() {
  const ClusterOptions options = state_.options;
  state_ = ClusterState();
  state_.options = options;
  session_.clear();
  for (const Event& event : durable_) Apply(event, &state_);
  std::string out;
  while (true) {
    const std::string line = Step(input::Recovered{});
    if (line.empty()) return out;
    absl::StrAppend(&out, line);
  }
}

std::string Transcript::Jobs() const {
  std::string out;
  for (const auto& [number, job] : state_.jobs) {
    absl::StrAppend(&out, job.id, " ", job.spec.name, " ", Name(job.state), " view ", job.view,
                    ": ", job.reason, "\n");
    if (HoldsWorkers(job.state) || job.progress.step > 0) {
      absl::StrAppendFormat(&out, "  step %d/%d epoch %.2f loss %.3f samples/s %.0f eta %.1f\n",
                            job.progress.step, job.progress.total_steps, job.progress.epoch,
                            job.progress.loss, job.progress.samples_per_second,
                            job.progress.eta_seconds);
    }
    if (job.failure != absl::StatusCode::kOk) {
      absl::StrAppend(&out, "  failure ", absl::StatusCodeToString(job.failure), "\n");
    }
    for (Rank r = 0; r < static_cast<Rank>(job.members.size()); ++r) {
      absl::StrAppend(&out, "  ", r, " ", job.members[r].worker.worker_id, " ",
                      Name(job.members[r].phase), job.members[r].reason.empty() ? "" : ": ",
                      job.members[r].reason, "\n");
    }
    if (!job.result.has_value()) continue;
    absl::StrAppendFormat(&out, "  accuracy %.3f consensus %.3f steps %d\n",
                          job.result->test_accuracy, job.result->consensus_distance,
                          job.result->steps);
  }
  return out;
}

std::string Transcript::Workers() const {
  std::string out;
  for (const auto& [id, worker] : state_.workers) {
    absl::StrAppend(&out, id, " inc ", worker.info.incarnation, " ",
                    worker.job_id.empty() ? "idle" : worker.job_id, "\n");
  }
  return out;
}

std::string Transcript::Notes(const std::string& name) const {
  std::string out;
  for (const JobNote& note : FindJob(state_, name)->notes) {
    absl::StrAppend(&out, note.warning ? "! " : "  ", note.reason, ": ", note.message, "\n");
  }
  return out;
}

input::Speaker Transcript::Who(const std::string& word) const {
  const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('/', 1));
  if (!parts.second.empty()) {
    return {parts.first, static_cast<uint64_t>(std::atoi(parts.second.c_str()))};
  }
  const auto session = session_.find(word);
  return {word, session == session_.end() ? 0 : session->second};
}

input::About Transcript::AboutJob(const std::string& worker_id) const {
  const auto worker = state_.workers.find(worker_id);
  const Job* job =
      worker == state_.workers.end() ? nullptr : FindJobById(state_, worker->second.job_id);
  return job == nullptr ? input::About{"none", 0} : input::About{job->id, job->view};
}

std::string Transcript::Run(const std::string& line) {
  const Words words(line);
  const std::string verb = words.At(0);
  const std::string name = words.At(1);
  const input::Speaker from = Who(name);
  const input::About about = AboutJob(from.worker_id);
  std::string out;
  if (verb == "options") {
    ClusterOptions& options = state_.options;
    options.lease = absl::Seconds(words.Number("lease", 3));
    options.settle = absl::Seconds(words.Number("settle", 2));
    options.finished_max = words.Count("finished_max", 200);
    options.finished_ttl = absl::Seconds(words.Number("ttl", 1e6));
    options.live_max = words.Count("live_max", 1000);
  } else if (verb == "at") {
    now_ = absl::UnixEpoch() + absl::Seconds(std::atof(name.c_str()));
    return "";
  } else if (verb == "tick") {
    return Quiesce(absl::Seconds(words.Number("stalled", 0)));
  } else if (verb == "restart") {
    out = Restart();
  } else if (verb == "jobs") {
    return Jobs();
  } else if (verb == "workers") {
    return Workers();
  } else if (verb == "notes") {
    return Notes(name);
  } else if (verb == "submit") {
    input::SubmitJob in;
    in.job_id = absl::StrCat("j", ++last_job_);
    in.request_id = words.Text("request", "");
    in.spec.name = name;
    in.spec.workers.min = static_cast<int64_t>(words.Count("min", 1));
    in.spec.workers.max = static_cast<int64_t>(words.Count("max", words.Count("min", 1)));
    in.spec.workers.transport = words.Text("transport", "auto");
    in.spec.workers.start_timeout_seconds = words.Number("timeout", 60);
    in.spec.train.epochs = static_cast<int64_t>(words.Count("epochs", 2));
    out = Step(in);
  } else if (verb == "cancel") {
    out = Step(input::CancelJob{name, words.Rest(2)});
  } else if (verb == "register") {
    input::WorkerRegistered in;
    in.session = ++last_session_;
    in.info.worker_id = name;
    in.info.incarnation = words.Count("inc", 1);
    in.info.host = words.Text("host", "h-" + name);
    in.info.pid = static_cast<int64_t>(words.Count("pid", 100 + in.session));
    in.info.address = name + ":1";
    in.info.transport = words.Text("transport", "grpc");
    out = Step(in);
    const auto worker = state_.workers.find(name);
    if (worker != state_.workers.end()) session_[name] = worker->second.session;
  } else if (verb == "beat") {
    for (size_t i = 1; i < words.plain.size(); ++i) {
      out += Step(input::WorkerHeartbeat{Who(words.plain[i])});
    }
  } else if (verb == "prepared") {
    PreparedReport report;
    report.schedule_fingerprint = words.Count("schedule", 1);
    report.data_fingerprint = words.Count("data", 2);
    report.model_fingerprint = words.Count("model", 3);
    report.parameter_count = 1000;
    report.total_steps = words.Count("steps", 100);
    report.steps_per_epoch = report.total_steps / 2;
    out = Step(input::WorkerPrepared{from, about, report});
  } else if (verb == "progress") {
    ProgressReport report;
    report.step = words.Count("step", 0);
    report.epoch = static_cast<double>(report.step) / 50;
    report.loss = words.Number("loss", 1);
    report.samples_per_second = words.Number("rate", 100);
    report.completing = words.Has("completing");
    out = Step(input::WorkerProgress{from, about, report});
  } else if (verb == "epoch") {
    EpochReport report;
    report.epoch = static_cast<uint32_t>(std::atoi(words.At(2).c_str()));
    report.train_loss = words.Number("loss", 1);
    report.evaluated = words.named.contains("samples");
    report.test_correct = words.Count("correct", 0);
    report.test_samples = words.Count("samples", 0);
    out = Step(input::WorkerEpoch{from, about, report});
  } else if (verb == "finished") {
    FinishedReport report;
    report.steps = words.Count("steps", 100);
    report.epochs = 2;
    report.train_seconds = 1;
    report.samples = words.Count("trained", 0);
    report.average_correct = words.Count("correct", 9);
    report.average_samples = words.Count("samples", 10);
    report.squared_distance = words.Number("distance", 0);
    out = Step(input::WorkerFinished{from, about, report});
  } else if (verb == "failed") {
    out = Step(input::WorkerFailed{from, about, absl::StatusCode::kInvalidArgument, words.Rest(2)});
  } else if (verb == "incident") {
    out = Step(input::WorkerIncident{from, about, 7, words.At(3), words.At(2), "deadline passed"});
  } else if (verb == "leaving") {
    out = Step(input::WorkerLeaving{from, words.Rest(2)});
  } else if (verb == "disconnect") {
    out = Step(input::WorkerDisconnected{from, "its control stream closed without a word"});
  } else {
    return absl::StrCat("UNKNOWN COMMAND ", line, "\n");
  }
  return out + Quiesce();
}

}  // namespace gg
