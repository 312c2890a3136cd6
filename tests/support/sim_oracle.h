// SPDX-License-Identifier: Apache-2.0
//
// The trajectory of a whole cluster of SimWorkers, computed in one place, in double precision and
// straight from the formulae of docs/algorithms/gossip-grad.md: no units, no messages, no buffers,
// no waiting.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_SIM_ORACLE_H_
#define GOSSIPGRAD_TESTS_SUPPORT_SIM_ORACLE_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/spec/job_spec.h"
#include "tests/support/sim_worker.h"

namespace gg {

class SimOracle {
 public:
  // `offsets` are the arena places of the parameters (SimWorker::ParameterOffsets). `halved` is the
  // contrast: the rule of the authors' last code, which mixes half of a stale snapshot into the
  // updated weights. `hosts` are those of SimNetworkOptions.
  SimOracle(const SimModel& model, const ExchangeSpec& spec, int size, std::vector<size_t> offsets,
            bool halved = false, std::vector<std::string> hosts = {});

  // `rank` goes without its partner at `step`. With schedule hierarchical its group averages its
  // replicas in the step after it, before it sends; for overlap none only.
  void Miss(Rank rank, uint64_t step) { missed_.insert({rank, step}); }

  void Step(uint64_t step);
  // The models as they are after Settle().
  std::vector<std::vector<double>> Settled() const;
  std::vector<double> Mean() const;

 private:
  using Vectors = std::vector<std::vector<double>>;  // [rank][parameter]

  // a_i + 1/2 (from_j - from_i), j the partner that i receives from at `step`.
  Vectors PulledTowardsPartner(const Vectors& a, const Vectors& from, uint64_t step) const;
  Vectors Halved(const Vectors& a, const Vectors& from, uint64_t step) const;
  void Apply(const Vectors& gradients, uint64_t step);
  // Every group's members get its mean.
  void AverageGroups(Vectors& values) const;
  void AverageGroup(const std::vector<Rank>& group, Vectors& values) const;
  Vectors MixStale(const Vectors& now, const Vectors& snapshot) const;

  const SimModel model_;
  const bool gradients_, momentum_too_, step_overlap_, halved_;
  const int size_;
  const std::vector<size_t> offsets_;
  std::unique_ptr<PartnerSchedule> schedule_;
  std::set<std::pair<Rank, uint64_t>> missed_;
  Vectors w_, v_;
  // overlap step: what was sent at the last step
  bool has_snapshot_ = false;
  uint64_t snapshot_step_ = 0;
  Vectors sent_w_, sent_v_, sent_g_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_SIM_ORACLE_H_
