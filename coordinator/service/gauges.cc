// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/gauges.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "coordinator/service/wire.h"

namespace gg {
namespace {

constexpr absl::string_view kWorkerStates[] = {"idle",    "preparing", "ready",
                                               "running", "finishing", "finished"};

}  // namespace

Gauges::Gauges(MetricSink* sink, std::function<void(absl::string_view)> forget_progress)
    : sink_(sink), forget_progress_(std::move(forget_progress)) {}

void Gauges::Count(const Decision& decision) {
  for (const Event& event : decision.events) {
    if (const auto* ended = std::get_if<event::JobEnded>(&event)) {
      sink_->Add(CounterId::kJobsFinished, 1, absl::AsciiStrToLower(Name(ended->state)));
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
  std::map<JobState, int> jobs;
  std::set<std::string> live;
  for (const auto& [number, job] : state.jobs) {
    ++jobs[job.state];
    if (!HoldsWorkers(job.state)) continue;
    live.insert(job.spec.name);
    const double total = static_cast<double>(job.progress.total_steps);
    sink_->Set(GaugeId::kJobProgress,
               total > 0 ? static_cast<double>(job.progress.step) / total : 0, job.spec.name);
  }
  for (const std::string& name : shown_jobs_) {
    if (!live.contains(name)) forget_progress_(name);
  }
  shown_jobs_ = std::move(live);
  for (const JobState job_state : kAllJobStates) {
    sink_->Set(GaugeId::kJobs, jobs[job_state], absl::AsciiStrToLower(Name(job_state)));
  }
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
  sink_->Set(GaugeId::kStoreBytes, static_cast<double>(store_bytes));
  sink_->Set(GaugeId::kViewNumber, static_cast<double>(state.last_view));
}

}  // namespace gg
