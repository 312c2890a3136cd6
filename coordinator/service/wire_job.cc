// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/service/wire.h"
#include "coordinator/store/event_codec.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/view_codec.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

void SetTime(absl::Time time, google::protobuf::Timestamp* (v1::Job::*field)(), v1::Job* out) {
  if (time != absl::InfinitePast()) *(out->*field)() = ToProto(time);
}

void AddCondition(v1::Job* out, absl::string_view type, bool value, absl::string_view reason,
                  absl::string_view message, absl::Time since) {
  v1::Condition* condition = out->add_conditions();
  condition->set_type(std::string(type));
  condition->set_status(value ? "True" : "False");
  condition->set_reason(std::string(reason));
  condition->set_message(std::string(message));
  *condition->mutable_last_transition_time() = ToProto(since);
}

// Kubernetes' way of saying the same as `state`: what holds, since when and why.
void AddConditions(const Job& job, v1::Job* out) {
  const bool assigned = job.started != absl::InfinitePast();
  const bool ended = IsFinal(job.state);
  const std::string why = job.notes.empty() ? "Unknown" : job.notes.back().reason;
  AddCondition(out, "Scheduled", assigned, assigned ? "WorkersAssigned" : "WaitingForWorkers",
               assigned ? absl::StrCat("view ", job.view) : job.reason,
               assigned ? job.started : job.created);
  const bool running = job.state == JobState::kRunning || job.state == JobState::kCompleting;
  const absl::Time running_since = ended                                  ? job.finished
                                   : job.training != absl::InfinitePast() ? job.training
                                   : assigned                             ? job.started
                                                                          : job.created;
  AddCondition(out, "Running", running,
               running ? "Training"
               : ended ? "Ended"
                       : "NotPrepared",
               job.reason, running_since);
  AddCondition(out, "Finished", ended, ended ? why : "NotFinished", job.reason,
               ended ? job.finished : job.created);
}

void SetProgress(const JobProgress& from, v1::JobProgress* to) {
  to->set_step(from.step);
  to->set_total_steps(from.total_steps);
  to->set_epoch(from.epoch);
  to->set_total_epochs(from.total_epochs);
  to->set_loss(from.loss);
  to->set_learning_rate(from.learning_rate);
  to->set_samples_per_second(from.samples_per_second);
  to->set_comm_wait_ratio(from.comm_wait_ratio);
  to->set_test_accuracy(from.test_accuracy);
  to->set_eta_seconds(from.eta_seconds);
  if (from.last_updated != absl::InfinitePast()) {
    *to->mutable_last_updated() = ToProto(from.last_updated);
  }
}

void SetCurve(const std::vector<EpochPoint>& from, v1::JobProgress* to) {
  for (const EpochPoint& point : from) *to->add_curve() = ToProto(point);
}

void SetIdentity(const WorkerInfo& from, v1::WorkerStatus* to) {
  to->set_worker_id(from.worker_id);
  to->set_host(from.host);
  to->set_pid(from.pid);
  to->set_transport(from.transport);
  to->set_device(from.device);
  to->set_address(from.address);
  to->mutable_topology()->insert(from.topology.begin(), from.topology.end());
}

void SetMember(const Job& job, Rank rank, v1::WorkerStatus* to) {
  const JobMember& member = job.members[rank];
  SetIdentity(member.worker, to);
  to->set_state(std::string(Name(member.phase)));
  to->set_rank(rank);
  to->set_step(member.progress.step);
  to->set_epoch(member.progress.epoch);
  to->set_loss(member.progress.loss);
  to->set_samples_per_second(member.progress.samples_per_second);
  to->set_comm_wait_ratio(member.progress.comm_wait_ratio);
  to->set_skipped_exchanges(member.finished.has_value() ? member.finished->skipped_exchanges
                                                        : member.progress.skipped_exchanges);
  if (!member.transport.empty()) to->set_transport(member.transport);
  to->set_reason(member.reason);
  to->set_job(job.spec.name);
}

Rank RankOf(const Job& job, const std::string& worker_id) {
  for (Rank rank = 0; rank < static_cast<Rank>(job.members.size()); ++rank) {
    if (job.members[rank].worker.worker_id == worker_id) return rank;
  }
  return -1;
}

}  // namespace

v1::Job JobToWire(const ClusterState& state, const Job& job, History history) {
  v1::Job out;
  out.set_id(job.id);
  *out.mutable_spec() = ToProto(job.spec);
  out.set_state(static_cast<v1::JobState>(job.state));
  out.set_reason(job.reason);
  out.set_failure_code(static_cast<int>(job.failure));
  SetTime(job.created, &v1::Job::mutable_created, &out);
  SetTime(job.started, &v1::Job::mutable_started, &out);
  SetTime(job.finished, &v1::Job::mutable_finished, &out);
  SetProgress(job.progress, out.mutable_progress());
  for (Rank rank = 0; rank < static_cast<Rank>(job.members.size()); ++rank) {
    v1::WorkerStatus* member = out.add_workers();
    SetMember(job, rank, member);
    const auto worker = state.workers.find(job.members[rank].worker.worker_id);
    if (worker != state.workers.end() && worker->second.job_id == job.id) {
      *member->mutable_last_heartbeat() = ToProto(worker->second.last_heartbeat);
    }
  }
  if (job.result.has_value()) *out.mutable_result() = ToProto(*job.result);
  AddConditions(job, &out);
  if (history == History::kWith) {
    SetCurve(job.progress.curve, out.mutable_progress());
    for (const JobNote& note : job.notes) {
      v1::JobEvent* event = out.add_events();
      *event->mutable_time() = ToProto(note.time);
      event->set_type(note.warning ? "Warning" : "Normal");
      event->set_reason(note.reason);
      event->set_message(note.message);
      event->set_worker_id(note.worker_id);
    }
  }
  out.set_view(job.view);
  out.set_revision(job.revision);
  return out;
}

absl::string_view StateOf(const ClusterState& state, const Worker& worker) {
  const Job* job = FindJobById(state, worker.job_id);
  const Rank rank = job == nullptr ? -1 : RankOf(*job, worker.info.worker_id);
  return rank < 0 ? "idle" : Name(job->members[rank].phase);
}

std::vector<v1::WorkerStatus> WorkersToWire(const ClusterState& state) {
  std::vector<const Worker*> workers;
  for (const auto& [id, worker] : state.workers) workers.push_back(&worker);
  std::sort(workers.begin(), workers.end(),
            [](const Worker* a, const Worker* b) { return a->order < b->order; });
  std::vector<v1::WorkerStatus> out;
  for (const Worker* worker : workers) {
    v1::WorkerStatus& status = out.emplace_back();
    const Job* job = FindJobById(state, worker->job_id);
    const Rank rank = job == nullptr ? -1 : RankOf(*job, worker->info.worker_id);
    if (rank >= 0) {
      SetMember(*job, rank, &status);
    } else {
      SetIdentity(worker->info, &status);
      status.set_state("idle");
      status.set_rank(-1);
    }
    *status.mutable_last_heartbeat() = ToProto(worker->last_heartbeat);
  }
  return out;
}

}  // namespace gg
