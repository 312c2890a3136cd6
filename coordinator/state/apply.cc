// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/state/event.h"
#include "core/spec/validate.h"

namespace gg {
namespace {

Job* Find(ClusterState* state, const std::string& id) {
  const auto number = state->job_number.find(id);
  return number == state->job_number.end() ? nullptr : &state->jobs.at(number->second);
}

JobMember* FindMember(ClusterState* state, const std::string& id, Rank rank) {
  Job* job = Find(state, id);
  if (job == nullptr || rank < 0 || rank >= static_cast<Rank>(job->members.size())) return nullptr;
  return &job->members[rank];
}

void AddNote(const ClusterOptions& options, JobNote note, Job* job) {
  job->notes.push_back(std::move(note));
  while (job->notes.size() > options.notes_max) job->notes.pop_front();
  ++job->revision;
}

void FreeWorkers(const std::string& job_id, ClusterState* state) {
  for (auto& [id, worker] : state->workers) {
    if (worker.job_id == job_id) worker.job_id.clear();
  }
}

struct Applier {
  ClusterState* state;

  void operator()(const event::JobSubmitted& e) const {
    if (state->job_number.contains(e.job_id)) return;
    const uint64_t number = ++state->last_job_number;
    Job& job = state->jobs[number];
    job.id = e.job_id;
    job.number = number;
    job.request_id = e.request_id;
    job.spec = e.spec;
    job.reason = "waits for workers";
    job.created = e.time;
    job.progress.total_epochs = e.spec.train.epochs;
    state->job_number[e.job_id] = number;
    if (!e.request_id.empty()) state->request_job[e.request_id] = number;
    AddNote(state->options, {e.time, false, "Submitted", "the job was accepted", ""}, &job);
    for (const FieldError& warning : Warnings(e.spec))
      AddNote(state->options, {e.time, true, "Specification", ToString(warning), ""}, &job);
  }

  void operator()(const event::JobAssigned& e) const {
    Job* job = Find(state, e.job_id);
    if (job == nullptr) return;
    state->last_view = std::max(state->last_view, e.view);
    job->state = JobState::kStarting;
    job->started = e.time;
    job->view = e.view;
    job->reason = absl::StrCat("preparing on ", CountWorkers(e.members.size()));
    for (const WorkerInfo& info : e.members) {
      JobMember member;
      member.worker = info;
      job->members.push_back(std::move(member));
      if (const auto worker = state->workers.find(info.worker_id); worker != state->workers.end()) {
        worker->second.job_id = e.job_id;
      }
    }
    AddNote(state->options,
            {e.time, false, "Assigned",
             absl::StrCat("view ", e.view, " of ", CountWorkers(e.members.size())), ""},
            job);
  }

  void operator()(const event::JobAdvanced& e) const {
    Job* job = Find(state, e.job_id);
    if (job == nullptr) return;
    job->state = e.state;
    if (e.state == JobState::kRunning) {
      job->training = e.time;
      job->reason = absl::StrCat("training on ", CountWorkers(job->members.size()));
      for (JobMember& member : job->members) member.phase = MemberPhase::kRunning;
      AddNote(state->options, {e.time, false, "Running", "all workers are prepared", ""}, job);
    } else {
      job->reason = "training is done; final average and scoring";
      AddNote(state->options, {e.time, false, "Completing", job->reason, ""}, job);
    }
  }

  void operator()(const event::JobEnded& e) const {
    Job* job = Find(state, e.job_id);
    if (job == nullptr) return;
    job->state = e.state;
    job->reason = e.reason;
    job->failure = e.failure;
    job->finished = e.time;
    job->result = e.result;
    job->progress = e.progress;
    job->progress_due = false;
    job->notes.assign(e.notes.begin(), e.notes.end());
    job->revision = e.revision;
    for (Rank rank = 0; rank < static_cast<Rank>(job->members.size()); ++rank) {
      WorkerInfo worker = std::move(job->members[rank].worker);
      job->members[rank] = JobMember();
      job->members[rank].worker = std::move(worker);
    }
    for (Rank rank = 0; rank < static_cast<Rank>(std::min(job->members.size(), e.members.size()));
         ++rank) {
      JobMember& member = job->members[rank];
      member.phase = e.members[rank].phase;
      member.reason = e.members[rank].reason;
      member.progress = e.members[rank].progress;
      member.transport = e.members[rank].transport;
    }
    FreeWorkers(e.job_id, state);
    const std::string culprit = e.culprit >= 0 && e.culprit < static_cast<Rank>(job->members.size())
                                    ? job->members[e.culprit].worker.worker_id
                                    : "";
    AddNote(state->options, {e.time, e.state != JobState::kSucceeded, e.note, e.reason, culprit},
            job);
  }

  void operator()(const event::JobForgotten& e) const {
    state->last_view = std::max(state->last_view, e.last_view);
    state->last_job_number = std::max(state->last_job_number, e.last_job_number);
    const auto number = state->job_number.find(e.job_id);
    if (number == state->job_number.end()) return;
    FreeWorkers(e.job_id, state);
    state->request_job.erase(state->jobs.at(number->second).request_id);
    state->jobs.erase(number->second);
    state->job_number.erase(number);
  }

  void operator()(const event::PendingExplained& e) const {
    Job* job = Find(state, e.job_id);
    if (job == nullptr) return;
    job->reason = e.reason;
    ++job->revision;
  }

  void operator()(const event::WorkerJoined& e) const {
    Worker worker;
    worker.info = e.info;
    worker.session = e.session;
    worker.order = ++state->last_order;
    worker.last_heartbeat = e.time;
    state->workers[e.info.worker_id] = std::move(worker);
    state->last_registration = e.time;
  }

  void operator()(const event::WorkerLeft& e) const { state->workers.erase(e.worker_id); }

  void operator()(const event::WorkerHeard& e) const {
    const auto worker = state->workers.find(e.worker_id);
    if (worker != state->workers.end()) worker->second.last_heartbeat = e.time;
  }

  void operator()(const event::LeasesExtended& e) const {
    for (auto& [id, worker] : state->workers) worker.last_heartbeat = e.time;
  }

  void operator()(const event::MemberPrepared& e) const {
    JobMember* member = FindMember(state, e.job_id, e.rank);
    if (member == nullptr) return;
    member->phase = MemberPhase::kReady;
    member->prepared = e.report;
    member->transport = e.report.transport;
    ++Find(state, e.job_id)->revision;
  }

  void operator()(const event::MemberProgressed& e) const {
    JobMember* member = FindMember(state, e.job_id, e.rank);
    if (member == nullptr) return;
    member->progress = e.report;
    if (e.report.completing) member->phase = MemberPhase::kFinishing;
    Find(state, e.job_id)->progress_due = true;
  }

  void operator()(const event::MemberEpochEnded& e) const {
    JobMember* member = FindMember(state, e.job_id, e.rank);
    if (member == nullptr) return;
    member->epochs[e.report.epoch] = e.report;
    Find(state, e.job_id)->progress_due = true;
  }

  void operator()(const event::MemberFinished& e) const {
    JobMember* member = FindMember(state, e.job_id, e.rank);
    if (member == nullptr) return;
    member->phase = MemberPhase::kFinished;
    member->finished = e.report;
    member->progress.step = e.report.steps;
    member->progress.epoch = e.report.epochs;
    Find(state, e.job_id)->progress_due = true;
  }

  void operator()(const event::JobProgressed& e) const {
    Job* job = Find(state, e.job_id);
    if (job == nullptr) return;
    job->progress = e.progress;
    job->progress_due = false;
    ++job->revision;
  }

  void operator()(const event::JobNoted& e) const {
    if (Job* job = Find(state, e.job_id)) AddNote(state->options, e.note, job);
  }
};

}  // namespace

bool IsDurable(const Event& event) {
  return std::holds_alternative<event::JobSubmitted>(event) ||
         std::holds_alternative<event::JobAssigned>(event) ||
         std::holds_alternative<event::JobAdvanced>(event) ||
         std::holds_alternative<event::JobEnded>(event) ||
         std::holds_alternative<event::JobForgotten>(event);
}

absl::string_view JobIdOf(const Event& event) {
  return std::visit(
      [](const auto& e) -> absl::string_view {
        if constexpr (requires { e.job_id; }) {
          return e.job_id;
        } else {
          return "";
        }
      },
      event);
}

void Apply(const Event& event, ClusterState* state) {
  std::visit(Applier{state}, event);
}

}  // namespace gg
