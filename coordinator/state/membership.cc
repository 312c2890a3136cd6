// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/membership.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/state/policy/worker_lost.h"
#include "core/status.h"
#include "core/worker_id.h"

namespace gg {
namespace {

// The worker goes, and with it what the policy says of its job.
Decision Remove(const ClusterState& state, const Worker& worker, const std::string& how,
                bool orderly, absl::Time now) {
  Decision decision;
  if (const Job* job = FindJobById(state, worker.job_id); job != nullptr) {
    for (Rank r = 0; r < static_cast<Rank>(job->members.size()); ++r) {
      if (job->members[r].worker.worker_id != worker.info.worker_id) continue;
      decision =
          FindWorkerLostPolicy(state.options.worker_lost)(state, *job, {r, how, orderly}, now);
    }
  }
  decision.events.push_back(event::WorkerLeft{worker.info.worker_id});
  const std::string line =
      absl::StrCat("worker ", worker.info.worker_id, orderly ? " left: " : " was lost: ", how);
  decision.log.insert(decision.log.begin(), line);  // the cause first
  return decision;
}

// The newest job that this very process took part in and that did not end well: it may not know
// yet.
const Job* UnfinishedJobOf(const ClusterState& state, const WorkerInfo& info) {
  for (auto it = state.jobs.rbegin(); it != state.jobs.rend(); ++it) {
    for (const JobMember& member : it->second.members) {
      if (member.worker.worker_id != info.worker_id ||
          member.worker.incarnation != info.incarnation) {
        continue;
      }
      return it->second.state == JobState::kSucceeded ? nullptr : &it->second;
    }
  }
  return nullptr;
}

}  // namespace

Decision Register(const ClusterState& state, const input::WorkerRegistered& in, absl::Time now) {
  Decision decision;
  const WorkerInfo& info = in.info;
  if (const absl::Status id = CheckWorkerId(info.worker_id); !id.ok()) {
    decision.commands.push_back({in.session, "", command::HangUp{Annotate(id, "register")}});
    return decision;
  }
  if (const absl::Status labels = CheckTopology(info.topology); !labels.ok()) {
    decision.commands.push_back({in.session, "", command::HangUp{Annotate(labels, "register")}});
    return decision;
  }
  const auto old = state.workers.find(info.worker_id);
  if (old != state.workers.end()) {
    const WorkerInfo& was = old->second.info;
    if (info.incarnation != was.incarnation) {
      // Whoever is here and heartbeating stays: a mistaken start must not cost a job. A process
      // that is gone gives its id free when its stream ends, a frozen one when its lease does.
      const std::string why =
          absl::StrCat("worker ", info.worker_id, " is already here: host ", was.host, ", pid ",
                       was.pid, "; end that process or give this one (host ", info.host, ", pid ",
                       info.pid, ") another --worker-id");
      decision.commands.push_back(
          {in.session, info.worker_id, command::HangUp{absl::AlreadyExistsError(why)}});
      decision.log.push_back(absl::StrCat("refused: ", why));
      return decision;
    }
    const std::string how = "the same process opened a new control stream";
    decision = Remove(state, old->second, how, /*orderly=*/false, now);
    decision.commands.push_back(
        {old->second.session, info.worker_id, command::HangUp{absl::AbortedError(how)}});
  }
  decision.events.push_back(event::WorkerJoined{info, in.session, now});
  decision.commands.push_back({in.session, info.worker_id, command::Welcome{}});
  if (const Job* job = UnfinishedJobOf(state, info)) {
    decision.commands.push_back(
        {in.session, info.worker_id,
         command::Stop{job->id, IsFinal(job->state) ? job->reason : "the control stream broke"}});
  }
  const std::string line = absl::StrCat("worker ", info.worker_id, " registered (host ", info.host,
                                        ", pid ", info.pid, ", transport ", info.transport, ")");
  decision.log.push_back(line);
  return decision;
}

Decision Leave(const ClusterState& state, const Worker& worker, const std::string& reason,
               absl::Time now) {
  return Remove(state, worker, reason.empty() ? "it said that it was going down" : reason,
                /*orderly=*/true, now);
}

Decision Disconnect(const ClusterState& state, const Worker& worker, const std::string& how,
                    absl::Time now) {
  return Remove(state, worker, how, /*orderly=*/false, now);
}

Decision ExpireLease(const ClusterState& state, absl::Time now) {
  for (const auto& [id, worker] : state.workers) {
    const absl::Duration silent = now - worker.last_heartbeat;
    if (silent <= state.options.lease) continue;
    const std::string how =
        absl::StrFormat("no heartbeat for %.1f s (lease %.1f s)", absl::ToDoubleSeconds(silent),
                        absl::ToDoubleSeconds(state.options.lease));
    Decision decision = Remove(state, worker, how, /*orderly=*/false, now);
    decision.commands.push_back(
        {worker.session, id, command::HangUp{absl::DeadlineExceededError(how)}});
    return decision;
  }
  return {};
}

Decision ExtendLeases(const ClusterState& state, absl::Duration stalled, absl::Time now) {
  Decision decision;
  if (state.workers.empty() || stalled <= state.options.lease / 2) return decision;
  decision.events.push_back(event::LeasesExtended{now});
  decision.log.push_back(absl::StrCat("the coordinator itself stood still for ",
                                      absl::FormatDuration(stalled), ": all leases start again"));
  return decision;
}

}  // namespace gg
