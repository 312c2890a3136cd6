// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/gauges.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "coordinator/service/wire.h"
#include "coordinator/state/results.h"

namespace gg {
namespace {

constexpr absl::string_view kWorkerStates[] = {"idle",    "preparing", "ready",
                                               "running", "finishing", "finished"};

// Everything that is labelled by train_job first.
constexpr GaugeId kOfJob[] = {GaugeId::kJobState,      GaugeId::kJobInfo,
                              GaugeId::kJobProgress,   GaugeId::kJobCompletion,
                              GaugeId::kJobQueueWait,  GaugeId::kConsensusDistance,
                              GaugeId::kStragglerScore};

std::string LabelOf(JobState state) {
  return absl::AsciiStrToLower(Name(state));
}

double QueueWait(const Job& job, absl::Time now) {
  const absl::Time until = job.started != absl::InfinitePast() ? job.started
                           : IsFinal(job.state)                ? job.finished
                                                               : now;
  return std::max(0.0, absl::ToDoubleSeconds(until - job.created));
}

// Negative: not known.
double ConsensusDistance(const Job& job) {
  if (job.result.has_value()) return job.result->consensus_distance;
  if (!HoldsWorkers(job.state)) return -1;
  std::vector<double> distances;
  for (const JobMember& member : job.members) distances.push_back(member.progress.partner_distance);
  return ConsensusOfPartners(job, distances);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void Gauges::Count(const Decision& decision) {
  for (const Event& event : decision.events) {
    if (const auto* ended = std::get_if<event::JobEnded>(&event)) {
      sink_->Add(CounterId::kJobsFinished, 1, LabelOf(ended->state));
    }
  }
  for (const Command& command : decision.commands) {
    const auto* hang_up = std::get_if<command::HangUp>(&command.body);
    if (hang_up != nullptr && absl::IsDeadlineExceeded(hang_up->why)) {
      sink_->Add(CounterId::kLeasesExpired, 1);
    }
  }
}

void Gauges::Update(const ClusterState& state, int64_t store_bytes, absl::Time now) {
  if (now - updated_ < absl::Seconds(1)) return;
  updated_ = now;
  UpdateJobs(state, now);
  UpdateWorkers(state, now);
  sink_->Set(GaugeId::kStoreBytes, static_cast<double>(store_bytes));
  sink_->Set(GaugeId::kMembershipEpoch, static_cast<double>(state.last_view));
}

void Gauges::UpdateJobs(const ClusterState& state, absl::Time now) {
  std::map<JobState, int> count;
  std::map<absl::string_view, const Job*> newest;
  for (const auto& [number, job] : state.jobs) {
    ++count[job.state];
    newest[job.spec.name] = &job;  // in the order of their numbers
  }
  for (const JobState job_state : kAllJobStates) {
    sink_->Set(GaugeId::kJobs, count[job_state], LabelOf(job_state));
  }
  for (auto it = shown_.begin(); it != shown_.end();) {
    const auto job = newest.find(it->first);
    if (job != newest.end() && job->second->number == it->second.number) {
      ++it;
      continue;
    }
    ForgetJob(it->first);
    it = shown_.erase(it);
  }
  for (const auto& [name, job] : newest) {
    const auto [it, is_new] = shown_.try_emplace(std::string(name));
    const bool changed = is_new || it->second.revision != job->revision;
    if (changed || job->state == JobState::kPending) {
      sink_->Set(GaugeId::kJobQueueWait, QueueWait(*job, now), name);
    }
    if (!changed) continue;
    it->second = {job->number, job->revision};
    ShowJob(*job);
  }
}

void Gauges::ShowJob(const Job& job) {
  const std::string& name = job.spec.name;
  for (const JobState state : kAllJobStates) {
    sink_->Set(GaugeId::kJobState, state == job.state ? 1 : 0, {name, LabelOf(state)});
  }
  sink_->Set(GaugeId::kJobInfo, 1,
             {name, job.id, absl::StrCat(job.spec.train.seed), job.spec.model.name,
              job.spec.exchange.algorithm, job.spec.exchange.schedule, job.spec.exchange.payload,
              job.spec.exchange.overlap});
  const JobProgress& progress = job.progress;
  sink_->Set(GaugeId::kJobProgress,
             progress.total_steps > 0
                 ? static_cast<double>(progress.step) / static_cast<double>(progress.total_steps)
                 : 0,
             name);
  if (job.state == JobState::kRunning && progress.eta_seconds >= 0) {
    sink_->Set(
        GaugeId::kJobCompletion,
        absl::ToDoubleSeconds(progress.last_updated - absl::UnixEpoch()) + progress.eta_seconds,
        name);
  } else {
    sink_->Forget(GaugeId::kJobCompletion, name);
  }
  if (const double distance = ConsensusDistance(job); distance >= 0) {
    sink_->Set(GaugeId::kConsensusDistance, distance, name);
  } else {
    sink_->Forget(GaugeId::kConsensusDistance, name);
  }
  ShowPace(job);
}

void Gauges::ShowPace(const Job& job) {
  std::vector<std::pair<absl::string_view, double>> times;
  std::vector<double> sorted;
  if (job.state == JobState::kRunning) {
    for (const JobMember& member : job.members) {
      const ProgressReport& report = member.progress;
      if (report.samples_per_second <= 0) continue;
      const double time = (1 - report.comm_wait_ratio) / report.samples_per_second;
      times.emplace_back(member.worker.worker_id, time);
      sorted.push_back(time);
    }
  }
  const double median = sorted.empty() ? 0 : Median(std::move(sorted));
  if (!(median > 0)) {
    sink_->Forget(GaugeId::kStragglerScore, job.spec.name);
    return;
  }
  for (const auto& [worker, time] : times) {
    sink_->Set(GaugeId::kStragglerScore, time / median, {job.spec.name, worker});
  }
}

void Gauges::ForgetJob(const std::string& name) {
  for (const GaugeId id : kOfJob) sink_->Forget(id, name);
}

void Gauges::UpdateWorkers(const ClusterState& state, absl::Time now) {
  std::map<absl::string_view, int> workers;
  absl::Duration oldest = absl::ZeroDuration();
  for (const auto& [id, worker] : state.workers) {
    ++workers[StateOf(state, worker)];
    oldest = std::max(oldest, now - worker.last_heartbeat);
  }
  for (const absl::string_view name : kWorkerStates) {
    sink_->Set(GaugeId::kWorkers, workers[name], name);
  }
  sink_->Set(GaugeId::kHeartbeatAge, absl::ToDoubleSeconds(oldest));
}

}  // namespace gg
