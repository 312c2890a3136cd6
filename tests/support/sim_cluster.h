// SPDX-License-Identifier: Apache-2.0
//
// A cluster of SimWorkers on the virtual clock and network, and the transcript of a run: one line
// per step, incident and average, with virtual times and weights, byte for byte the same at every
// run.
//
// Thread-safety: as SimClock.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_SIM_CLUSTER_H_
#define GOSSIPGRAD_TESTS_SUPPORT_SIM_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/sim_clock.h"
#include "tests/support/sim_network.h"
#include "tests/support/sim_worker.h"

namespace gg {

struct SimScenario {
  int size = 4;
  uint64_t steps = 8;
  ExchangeSpec spec;
  SimModel model;
  SimNetworkOptions network;
  // Virtual compute time of a step; the exchange comes on top of it.
  std::function<absl::Duration(Rank, uint64_t step)> compute = [](Rank, uint64_t) {
    return absl::Milliseconds(10);
  };
  bool average = true;  // close with AverageReplicas
  absl::Duration limit = absl::Hours(1);
};

class SimCluster {
 public:
  explicit SimCluster(SimScenario scenario);
  ~SimCluster();

  SimClock& clock() { return clock_; }
  SimNetwork& network() { return network_; }
  SimWorker& worker(Rank rank) { return *members_[rank].worker; }

  // The whole run. Faults are planned before it, with clock().After.
  absl::Status Run();
  // Only these steps, without Settle and average; for tests that look in between.
  absl::Status RunSteps(uint64_t first, uint64_t steps);

  const ExchangeStats& stats(Rank rank) const { return members_[rank].stats; }
  const absl::Status& average_status(Rank rank) const { return members_[rank].average_status; }
  uint64_t steps_done(Rank rank) const { return members_[rank].steps_done; }
  double MeanWeight();  // over the live workers and their parameters
  std::string transcript() const { return transcript_; }

 private:
  struct Member {
    std::unique_ptr<SimWorker>
        worker;  // declared before the group, which lets go of its buffers first
    std::unique_ptr<PeerGroup> group;
    ExchangeStats stats;
    absl::Status average_status;
    uint64_t steps_done = 0;
    size_t incidents_logged = 0;
  };
  void Log(Rank rank, const std::string& text);
  void LogStats(Rank rank, absl::string_view what, const ExchangeStats& stats);
  bool Steps(Rank rank, uint64_t first, uint64_t steps);
  void Close(Rank rank);

  const SimScenario scenario_;
  SimClock clock_;
  SimNetwork network_;
  std::vector<Member> members_;
  std::string transcript_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_SIM_CLUSTER_H_
