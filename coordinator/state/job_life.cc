// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/job_life.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/state/agreement.h"
#include "coordinator/state/ending.h"
#include "coordinator/state/results.h"

namespace gg {
namespace {

Decision Refuse(absl::Status status) {
  Decision decision;
  decision.status = std::move(status);
  return decision;
}

// Every member but `rank` has reached `phase` or a later one.
bool OthersReached(const Job& job, Rank rank, MemberPhase phase) {
  for (Rank r = 0; r < static_cast<Rank>(job.members.size()); ++r) {
    if (r != rank && job.members[r].phase < phase) return false;
  }
  return true;
}

std::string NotPrepared(const Job& job) {
  std::vector<std::string> names;
  for (Rank r = 0; r < static_cast<Rank>(job.members.size()); ++r) {
    if (job.members[r].phase == MemberPhase::kPreparing) names.push_back(Describe(job, r));
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace

Decision Submit(const ClusterState& state, const input::SubmitJob& in, absl::Time now) {
  Decision decision;
  if (!in.request_id.empty()) {
    if (const auto known = state.request_job.find(in.request_id);
        known != state.request_job.end()) {
      decision.job_id = state.jobs.at(known->second).id;
      return decision;
    }
  }
  size_t live = 0;
  for (const auto& [number, job] : state.jobs) {
    if (IsFinal(job.state)) continue;
    ++live;
    if (job.spec.name == in.spec.name) {
      return Refuse(absl::AlreadyExistsError(absl::StrCat("job ", in.spec.name, " is ",
                                                          Name(job.state), " (id ", job.id,
                                                          "): cancel it or choose another name")));
    }
  }
  if (live >= state.options.live_max) {
    return Refuse(absl::ResourceExhaustedError(absl::StrCat(
        live, " jobs are waiting or running, which is the limit: wait for one to end")));
  }
  if (state.job_number.contains(in.job_id) || state.job_number.contains(in.spec.name)) {
    return Refuse(absl::AlreadyExistsError(
        absl::StrCat("a job with the id ", in.job_id, " or ", in.spec.name, " is there already")));
  }
  decision.job_id = in.job_id;
  decision.events.push_back(event::JobSubmitted{in.job_id, now, in.request_id, in.spec});
  decision.log.push_back(absl::StrCat("job ", in.spec.name, " (", in.job_id, ") submitted"));
  return decision;
}

Decision EndJob(const ClusterState& state, const Job& job, const Ending& ending, absl::Time now) {
  Decision decision;
  decision.job_id = job.id;
  event::JobEnded ended;
  ended.job_id = job.id;
  ended.time = now;
  ended.state = ending.state;
  ended.reason = ending.reason;
  ended.failure = ending.failure;
  ended.note = ending.note;
  Seal(job, {ending.culprit, ending.culprit_phase, ending.culprit_reason}, &ended);
  decision.events.push_back(std::move(ended));
  for (Rank r = 0; r < static_cast<Rank>(job.members.size()); ++r) {
    const std::string& id = job.members[r].worker.worker_id;
    const auto worker = state.workers.find(id);
    if (r == ending.but_not || worker == state.workers.end() || worker->second.job_id != job.id) {
      continue;
    }
    decision.commands.push_back({worker->second.session, id, command::Stop{job.id, ending.reason}});
  }
  decision.log.push_back(absl::StrCat("job ", job.spec.name, " (", job.id, ") ", Name(ending.state),
                                      ": ", ending.reason));
  return decision;
}

Decision Cancel(const ClusterState& state, const input::CancelJob& in, absl::Time now) {
  const Job* job = FindJob(state, in.name);
  if (job == nullptr) {
    return Refuse(absl::NotFoundError(absl::StrCat("no job has the name or id ", in.name)));
  }
  if (IsFinal(job->state)) {
    Decision decision;
    decision.job_id = job->id;
    return decision;
  }
  Ending ending;
  ending.state = JobState::kCancelled;
  ending.note = "Cancelled";
  ending.reason = in.reason.empty() ? "cancelled" : absl::StrCat("cancelled: ", in.reason);
  return EndJob(state, *job, ending, now);
}

Decision OnPrepared(const ClusterState& state, const Job& job, Rank rank, const PreparedReport& in,
                    absl::Time now) {
  Decision decision;
  if (job.state != JobState::kStarting) return decision;
  decision.events.push_back(event::MemberPrepared{job.id, rank, in, now});
  if (!OthersReached(job, rank, MemberPhase::kReady)) return decision;
  const Job prepared = JobAfter(state, job, decision.events);
  const Disagreement odd = FindDisagreement(prepared);
  if (odd.rank >= 0) {
    Ending ending;
    ending.reason = odd.message;
    ending.failure = absl::StatusCode::kFailedPrecondition;
    ending.note = "PreparedDifferently";
    ending.culprit = odd.rank;
    ending.culprit_reason = odd.message;
    Decision end = EndJob(state, prepared, ending, now);
    end.events.insert(end.events.begin(), decision.events.front());
    return end;
  }
  decision.events.push_back(event::JobAdvanced{job.id, now, JobState::kRunning});
  for (const JobMember& member : job.members) {
    const auto worker = state.workers.find(member.worker.worker_id);
    if (worker == state.workers.end()) continue;
    decision.commands.push_back(
        {worker->second.session, member.worker.worker_id, command::Begin{job.id, job.view}});
  }
  decision.log.push_back(absl::StrCat("job ", job.spec.name, " (", job.id, ") RUNNING on ",
                                      CountWorkers(job.members.size())));
  return decision;
}

Decision OnFinished(const ClusterState& state, const Job& job, Rank rank, const FinishedReport& in,
                    absl::Time now) {
  Decision decision;
  const bool training = job.state == JobState::kRunning || job.state == JobState::kCompleting;
  if (!training || job.members[rank].finished.has_value()) return decision;
  decision.events.push_back(event::MemberFinished{job.id, rank, in});
  if (job.state == JobState::kRunning && OthersReached(job, rank, MemberPhase::kFinishing)) {
    decision.events.push_back(event::JobAdvanced{job.id, now, JobState::kCompleting});
  }
  if (!OthersReached(job, rank, MemberPhase::kFinished)) return decision;
  const Job all = JobAfter(state, job, decision.events);
  event::JobEnded ended;
  ended.job_id = job.id;
  ended.time = now;
  ended.state = JobState::kSucceeded;
  ended.note = "Succeeded";
  ended.reason = absl::StrCat("finished on ", CountWorkers(job.members.size()));
  ended.result = Aggregate(all);
  Seal(all, {}, &ended);
  decision.events.push_back(std::move(ended));
  decision.log.push_back(absl::StrCat("job ", job.spec.name, " (", job.id, ") SUCCEEDED"));
  return decision;
}

Decision FailOverdueStart(const ClusterState& state, absl::Time now) {
  for (const auto& [number, job] : state.jobs) {
    if (job.state != JobState::kStarting) continue;
    const absl::Duration timeout = absl::Seconds(job.spec.workers.start_timeout_seconds);
    if (now - job.started < timeout) continue;
    Ending ending;
    ending.failure = absl::StatusCode::kDeadlineExceeded;
    ending.note = "StartTimeout";
    ending.reason =
        absl::StrCat("not prepared within ", absl::FormatDuration(timeout), ": ", NotPrepared(job));
    for (Rank r = 0; r < static_cast<Rank>(job.members.size()) && ending.culprit < 0; ++r) {
      if (job.members[r].phase == MemberPhase::kPreparing) ending.culprit = r;
    }
    ending.culprit_reason = "not prepared in time";
    return EndJob(state, job, ending, now);
  }
  return {};
}

Decision ForgetOldJob(const ClusterState& state, absl::Time now) {
  size_t finished = 0;
  const Job* oldest = nullptr;
  for (const auto& [number, job] : state.jobs) {
    if (!IsFinal(job.state)) continue;
    ++finished;
    if (oldest == nullptr || job.finished < oldest->finished) oldest = &job;
  }
  Decision decision;
  if (oldest == nullptr) return decision;
  const bool expired = now - oldest->finished >= state.options.finished_ttl;
  if (finished <= state.options.finished_max && !expired) return decision;
  decision.events.push_back(
      event::JobForgotten{oldest->id, state.last_view, state.last_job_number});
  decision.log.push_back(absl::StrCat("job ", oldest->spec.name, " (", oldest->id, ") forgotten: ",
                                      expired ? "it ended long ago" : "too many finished jobs"));
  return decision;
}

Decision FailInterrupted(const ClusterState& state, absl::Time now) {
  for (const auto& [number, job] : state.jobs) {
    if (!HoldsWorkers(job.state)) continue;
    Ending ending;
    ending.failure = absl::StatusCode::kAborted;
    ending.note = "CoordinatorRestarted";
    ending.reason = "coordinator restarted while the job was running";
    return EndJob(state, job, ending, now);
  }
  return {};
}

}  // namespace gg
