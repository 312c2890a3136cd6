// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/decide.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "coordinator/state/job_life.h"
#include "coordinator/state/membership.h"
#include "coordinator/state/placement.h"
#include "coordinator/state/results.h"

namespace gg {
namespace {

// The worker whose stream this is; null when the stream was replaced or given up.
const Worker* Live(const ClusterState& state, const input::Speaker& from) {
  const auto worker = state.workers.find(from.worker_id);
  if (worker == state.workers.end() || worker->second.session != from.session) return nullptr;
  return &worker->second;
}

struct MemberOf {
  const Job* job = nullptr;
  Rank rank = 0;
};

// The speaker's place in the job it speaks of; job is null when that job or view is not the
// worker's any more.
MemberOf FindMember(const ClusterState& state, const input::Speaker& from,
                    const input::About& about) {
  const Worker* worker = Live(state, from);
  if (worker == nullptr || worker->job_id != about.job_id) return {};
  const Job* job = FindJobById(state, about.job_id);
  if (job == nullptr || job->view != about.view || !HoldsWorkers(job->state)) return {};
  for (Rank r = 0; r < static_cast<Rank>(job->members.size()); ++r) {
    if (job->members[r].worker.worker_id == from.worker_id) return {job, r};
  }
  return {};
}

Decision OnProgress(const Job& job, Rank rank, const ProgressReport& report, absl::Time now) {
  Decision decision;
  const bool training = job.state == JobState::kRunning || job.state == JobState::kCompleting;
  if (!training || job.members[rank].phase == MemberPhase::kFinished) return decision;
  decision.events.push_back(event::MemberProgressed{job.id, rank, report});
  if (job.state != JobState::kRunning || !report.completing) return decision;
  for (Rank r = 0; r < static_cast<Rank>(job.members.size()); ++r) {
    if (r != rank && job.members[r].phase < MemberPhase::kFinishing) return decision;
  }
  decision.events.push_back(event::JobAdvanced{job.id, now, JobState::kCompleting});
  decision.log.push_back(absl::StrCat("job ", job.spec.name, " (", job.id, ") COMPLETING"));
  return decision;
}

Decision OnFailed(const ClusterState& state, const Job& job, Rank rank,
                  const input::WorkerFailed& in, absl::Time now) {
  const std::string message = absl::StrCat(absl::StatusCodeToString(in.code), ": ", in.message);
  Ending ending;
  ending.failure = in.code;
  ending.note = "WorkerFailed";
  ending.culprit = rank;
  ending.culprit_reason = message;
  ending.but_not = rank;
  ending.reason = absl::StrCat(Describe(job, rank), " failed at step ",
                               job.members[rank].progress.step, ": ", message);
  return EndJob(state, job, ending, now);
}

Decision OnIncident(const Job& job, Rank rank, const input::WorkerIncident& in, absl::Time now) {
  Decision decision;
  const std::string reason = in.reason == "late"         ? "PartnerLate"
                             : in.reason == "lost"       ? "PartnerLost"
                             : in.reason == "corrupt"    ? "PartnerCorrupt"
                             : in.reason == "nonfinite"  ? "NonFinite"
                             : in.reason == "norm"       ? "NormExceeded"
                             : in.reason == "stale"      ? "MessageStale"
                             : in.reason == "quarantine" ? "PartnerQuarantined"
                                                         : "Incident";
  JobNote note{now, true, reason,
               absl::StrCat(Describe(job, rank), " at step ", in.step, ": ", in.reason,
                            in.partner.empty() ? "" : absl::StrCat(", partner ", in.partner),
                            in.detail.empty() ? "" : absl::StrCat(": ", in.detail)),
               in.from.worker_id};
  decision.events.push_back(event::JobNoted{job.id, std::move(note)});
  return decision;
}

Decision ShowProgress(const ClusterState& state, absl::Time now) {
  Decision decision;
  for (const auto& [number, job] : state.jobs) {
    if (!job.progress_due || IsFinal(job.state)) continue;
    if (now - job.progress.last_updated < state.options.progress_interval) continue;
    decision.events.push_back(event::JobProgressed{job.id, Summarise(job, now)});
  }
  return decision;
}

struct Decider {
  const ClusterState& state;
  absl::Time now;

  Decision operator()(const input::SubmitJob& in) const { return Submit(state, in, now); }
  Decision operator()(const input::CancelJob& in) const { return Cancel(state, in, now); }
  Decision operator()(const input::WorkerRegistered& in) const { return Register(state, in, now); }

  Decision operator()(const input::WorkerHeartbeat& in) const { return Heard({}, in.from); }

  Decision operator()(const input::WorkerPrepared& in) const {
    const MemberOf member = FindMember(state, in.from, in.about);
    if (member.job == nullptr) return Heard({}, in.from);
    return Heard(OnPrepared(state, *member.job, member.rank, in.report, now), in.from);
  }
  Decision operator()(const input::WorkerProgress& in) const {
    const MemberOf member = FindMember(state, in.from, in.about);
    if (member.job == nullptr) return Heard({}, in.from);
    return Heard(OnProgress(*member.job, member.rank, in.report, now), in.from);
  }
  Decision operator()(const input::WorkerEpoch& in) const {
    Decision decision;
    const MemberOf member = FindMember(state, in.from, in.about);
    // An epoch that the job does not have is not kept: it would grow the state without bound.
    if (member.job != nullptr && in.report.epoch >= 1 &&
        in.report.epoch <= static_cast<uint64_t>(member.job->spec.train.epochs)) {
      decision.events.push_back(event::MemberEpochEnded{member.job->id, member.rank, in.report});
    }
    return Heard(std::move(decision), in.from);
  }
  Decision operator()(const input::WorkerIncident& in) const {
    const MemberOf member = FindMember(state, in.from, in.about);
    if (member.job == nullptr) return Heard({}, in.from);
    return Heard(OnIncident(*member.job, member.rank, in, now), in.from);
  }
  Decision operator()(const input::WorkerFinished& in) const {
    const MemberOf member = FindMember(state, in.from, in.about);
    if (member.job == nullptr) return Heard({}, in.from);
    return Heard(OnFinished(state, *member.job, member.rank, in.report, now), in.from);
  }
  Decision operator()(const input::WorkerFailed& in) const {
    const MemberOf member = FindMember(state, in.from, in.about);
    if (member.job == nullptr) return Heard({}, in.from);
    return Heard(OnFailed(state, *member.job, member.rank, in, now), in.from);
  }
  Decision operator()(const input::WorkerLeaving& in) const {
    const Worker* worker = Live(state, in.from);
    return worker == nullptr ? Decision{} : Leave(state, *worker, in.reason, now);
  }
  Decision operator()(const input::WorkerDisconnected& in) const {
    const Worker* worker = Live(state, in.from);
    return worker == nullptr ? Decision{} : Disconnect(state, *worker, in.how, now);
  }
  Decision operator()(const input::Tick& in) const {
    Decision decision = ExtendLeases(state, in.stalled, now);
    if (decision.events.empty()) decision = ExpireLease(state, now);
    if (decision.events.empty()) decision = FailOverdueStart(state, now);
    if (decision.events.empty()) decision = ForgetOldJob(state, now);
    if (decision.events.empty()) decision = Place(state, now);
    if (decision.events.empty()) decision = ShowProgress(state, now);
    return decision;
  }
  Decision operator()(const input::Recovered&) const { return FailInterrupted(state, now); }

  // Whatever a worker says, it is alive.
  Decision Heard(Decision decision, const input::Speaker& from) const {
    if (Live(state, from) != nullptr) {
      decision.events.push_back(event::WorkerHeard{from.worker_id, now});
    }
    return decision;
  }
};

}  // namespace

Decision Decide(const ClusterState& state, const Input& input, absl::Time now) {
  return std::visit(Decider{state, now}, input);
}

}  // namespace gg
