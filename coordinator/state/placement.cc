// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

using Group = std::vector<const Worker*>;

std::map<std::string, Group> IdleByTransport(const ClusterState& state) {
  std::map<std::string, Group> idle;
  for (const auto& [id, worker] : state.workers) {
    if (worker.job_id.empty()) idle[worker.info.transport].push_back(&worker);
  }
  for (auto& [transport, group] : idle) {
    std::sort(group.begin(), group.end(),
              [](const Worker* a, const Worker* b) { return a->order < b->order; });
  }
  return idle;
}

// Registered workers by transport, idle and busy.
std::map<std::string, size_t> CountByTransport(const ClusterState& state) {
  std::map<std::string, size_t> count;
  for (const auto& [id, worker] : state.workers) ++count[worker.info.transport];
  return count;
}

bool CanUse(const Job& job, const std::string& transport) {
  return job.spec.workers.transport == "auto" || job.spec.workers.transport == transport;
}

size_t Needed(const Job& job) {
  return static_cast<size_t>(std::max<int64_t>(job.spec.workers.min, 1));
}

Decision Start(const ClusterState& state, const Job& job, const Group& idle, absl::Time now) {
  Decision decision;
  decision.job_id = job.id;
  event::JobAssigned assigned;
  assigned.job_id = job.id;
  assigned.time = now;
  assigned.view = state.last_view + 1;
  const size_t size = std::min(idle.size(), static_cast<size_t>(job.spec.workers.max));
  View view;
  view.number = assigned.view;
  for (size_t rank = 0; rank < size; ++rank) {
    const WorkerInfo& info = idle[rank]->info;
    assigned.members.push_back(info);
    view.members.push_back(MemberOf(info));
  }
  for (size_t rank = 0; rank < size; ++rank) {
    decision.commands.push_back({idle[rank]->session, idle[rank]->info.worker_id,
                                 command::Assign{job.id, job.spec, view, static_cast<Rank>(rank)}});
  }
  decision.events.push_back(std::move(assigned));
  decision.log.push_back(absl::StrCat("job ", job.spec.name, " (", job.id, ") STARTING on ",
                                      CountWorkers(size), " as view ", view.number));
  return decision;
}

// "" when there are as many workers as the job needs, or none for anybody.
std::string TooFew(const std::map<std::string, size_t>& registered, const Job& job) {
  size_t most = 0;
  for (const auto& [transport, count] : registered) {
    if (CanUse(job, transport)) most = std::max(most, count);
  }
  if (most == 0 || most >= Needed(job)) return "";
  return absl::StrCat("; only ", most, " registered: later jobs go first until ", Needed(job),
                      " are");
}

std::string Explain(const ClusterState& state, const Job& job, const std::string& transport,
                    size_t idle) {
  const WorkersSpec& want = job.spec.workers;
  const size_t busy = std::count_if(state.workers.begin(), state.workers.end(),
                                    [](const auto& w) { return !w.second.job_id.empty(); });
  const std::string over =
      transport.empty() ? absl::StrCat("transport ", want.transport) : "transport " + transport;
  if (idle >= Needed(job)) {
    return absl::StrCat(idle, " of at most ", want.max, " workers are idle (", over,
                        "): starts when nobody new has come for ",
                        absl::FormatDuration(state.options.settle));
  }
  return absl::StrCat("waits for workers: ", idle, " idle, ", want.min, " needed (", over, "), ",
                      busy, " busy with other jobs");
}

}  // namespace

Decision Place(const ClusterState& state, absl::Time now) {
  const std::map<std::string, Group> idle = IdleByTransport(state);
  const std::map<std::string, size_t> registered = CountByTransport(state);
  const bool settled = now - state.last_registration >= state.options.settle;
  std::vector<const Job*> waiting;
  Decision explained;
  // Until the cluster has settled, more workers may come for the job than are there now.
  const auto holds = [&](const Job& job, const std::string& transport) {
    return CanUse(job, transport) && (!settled || registered.at(transport) >= Needed(job));
  };
  for (const auto& [number, job] : state.jobs) {
    if (job.state != JobState::kPending) continue;
    // The largest group that the job can use and no earlier job waits for.
    const std::pair<const std::string, Group>* best = nullptr;
    const Job* behind = nullptr;
    for (const auto& candidate : idle) {
      if (!CanUse(job, candidate.first)) continue;
      const auto earlier = std::find_if(waiting.begin(), waiting.end(), [&](const Job* other) {
        return holds(*other, candidate.first);
      });
      if (earlier != waiting.end()) {
        behind = *earlier;
      } else if (best == nullptr || candidate.second.size() > best->second.size()) {
        best = &candidate;
      }
    }
    const size_t count = best == nullptr ? 0 : best->second.size();
    const bool full = count >= static_cast<size_t>(std::max<int64_t>(job.spec.workers.max, 1));
    const bool enough = count >= Needed(job);
    if (full || (enough && settled)) return Start(state, job, best->second, now);
    std::string reason =
        best == nullptr && behind != nullptr
            ? absl::StrCat("waits behind job ", behind->spec.name, " (", behind->id, ")")
            : Explain(state, job, best == nullptr ? "" : best->first, count);
    if (settled) absl::StrAppend(&reason, TooFew(registered, job));
    if (reason != job.reason) explained.events.push_back(event::PendingExplained{job.id, reason});
    waiting.push_back(&job);
  }
  return explained;
}

}  // namespace gg
