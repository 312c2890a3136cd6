// SPDX-License-Identifier: Apache-2.0
//
// A cluster of SimWorkers on real threads over the in-process transport.
//
// Thread-safety: Run joins all its threads before it returns.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_SIM_THREADS_H_
#define GOSSIPGRAD_TESTS_SUPPORT_SIM_THREADS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/sim_worker.h"
#include "worker/transport/inproc/inproc_transport.h"
#include "worker/transport/transport.h"

namespace gg {

class ThreadCluster {
 public:
  // `placement`: the workers in the order in which their transports are made, each with its rank
  // and id; empty: worker-0, worker-1, ... in the order of ranks.
  ThreadCluster(const SimModel& model, const ExchangeSpec& spec, int size,
                std::vector<std::pair<Rank, std::string>> placement = {});
  ~ThreadCluster();

  // Runs `body` once per rank, each on a thread of its own, and returns when all have returned.
  void Run(std::function<void(Rank)> body);
  // All workers, steps first .. first + steps - 1, then Settle. Fails the test on an error.
  void Train(uint64_t first, uint64_t steps);

  SimWorker& worker(Rank rank) { return *members_[rank].worker; }
  PeerGroup& group(Rank rank) { return *members_[rank].group; }
  const ExchangeStats& stats(Rank rank) const { return members_[rank].stats; }
  // The worker's end is closed, as at the end of its process.
  void Leave(Rank rank) { members_[rank].group.reset(); }
  int size() const { return static_cast<int>(members_.size()); }

 private:
  struct Member {
    std::unique_ptr<SimWorker>
        worker;  // declared before the group, which lets go of its buffers first
    std::unique_ptr<Transport> transport;
    std::unique_ptr<PeerGroup> group;
    ExchangeStats stats;
  };
  std::unique_ptr<InprocNetwork> network_;
  std::vector<Member> members_;
};

// A spec with small buckets, so that there are several units, and a deadline that no test reaches
// by itself.
ExchangeSpec SimSpec(absl::string_view payload, absl::string_view overlap);

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_SIM_THREADS_H_
