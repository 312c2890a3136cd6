// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gg {

SimCluster::SimCluster(SimScenario scenario)
    : scenario_(std::move(scenario)),
      clock_(scenario_.limit),
      network_(clock_, scenario_.size, scenario_.network),
      members_(scenario_.size) {
  for (Rank r = 0; r < scenario_.size; ++r) {
    Member& m = members_[r];
    m.group = network_.Join(r);
    m.worker = std::make_unique<SimWorker>(scenario_.model, scenario_.spec, scenario_.size, r,
                                           clock_, m.group.get());
  }
}

SimCluster::~SimCluster() {
  for (Member& m : members_) m.group.reset();
}

void SimCluster::Log(Rank rank, const std::string& text) {
  absl::StrAppendFormat(&transcript_, "%9.6f r%d %s\n", absl::ToDoubleSeconds(clock_.elapsed()),
                        rank, text);
}

void SimCluster::LogStats(Rank rank, absl::string_view what, const ExchangeStats& stats) {
  Member& m = members_[rank];
  m.stats += stats;
  const std::vector<PartnerIncident>& incidents = m.worker->incidents();
  for (; m.incidents_logged < incidents.size(); ++m.incidents_logged) {
    const PartnerIncident& i = incidents[m.incidents_logged];
    Log(rank,
        absl::StrCat("incident step ", i.step, " ", i.worker_id, " ", i.reason, ": ", i.detail));
  }
  double sum = 0;
  for (const size_t i : m.worker->ParameterOffsets()) sum += m.worker->arena().weights()[i];
  Log(rank, absl::StrFormat("%s sent=%d mixed=%d skipped=%d waited=%s w=%.4f", what,
                            stats.messages_sent, stats.exchanges_done, stats.exchanges_skipped,
                            absl::FormatDuration(stats.waited), sum));
}

bool SimCluster::Steps(Rank rank, uint64_t first, uint64_t steps) {
  Member& m = members_[rank];
  for (uint64_t step = first; step < first + steps; ++step) {
    clock_.Compute(scenario_.compute(rank, step));
    if (network_.killed(rank)) {
      Log(rank, "dead");
      return false;
    }
    const auto stats = m.worker->Step(step);
    if (!stats.ok()) {
      Log(rank, absl::StrCat("step ", step, " error: ", stats.status().ToString()));
      return false;
    }
    m.steps_done = step + 1;
    LogStats(rank, absl::StrCat("step ", step), *stats);
  }
  return true;
}

void SimCluster::Close(Rank rank) {
  Member& m = members_[rank];
  const auto settled = m.worker->exchange().Settle();
  if (!settled.ok()) return Log(rank, absl::StrCat("settle error: ", settled.status().ToString()));
  LogStats(rank, "settle", *settled);
  if (!scenario_.average) return;
  const auto distance = m.worker->exchange().AverageReplicas(clock_.Now() + absl::Seconds(10));
  m.average_status = distance.status();
  Log(rank, distance.ok() ? absl::StrFormat("average distance=%.4f", *distance)
                          : absl::StrCat("average error: ", distance.status().ToString()));
}

absl::Status SimCluster::Run() {
  std::vector<std::function<void()>> bodies;
  for (Rank r = 0; r < scenario_.size; ++r) {
    bodies.push_back([this, r] {
      if (Steps(r, 0, scenario_.steps)) Close(r);
    });
  }
  return clock_.Run(std::move(bodies));
}

absl::Status SimCluster::RunSteps(uint64_t first, uint64_t steps) {
  std::vector<std::function<void()>> bodies;
  for (Rank r = 0; r < scenario_.size; ++r) {
    bodies.push_back([this, r, first, steps] { Steps(r, first, steps); });
  }
  return clock_.Run(std::move(bodies));
}

double SimCluster::MeanWeight() {
  double sum = 0;
  int count = 0;
  for (Rank r = 0; r < scenario_.size; ++r) {
    if (network_.killed(r)) continue;
    for (const size_t i : members_[r].worker->ParameterOffsets()) {
      sum += members_[r].worker->arena().weights()[i];
      ++count;
    }
  }
  return count == 0 ? 0 : sum / count;
}

}  // namespace gg
