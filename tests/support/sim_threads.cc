// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_threads.h"

#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace gg {

ThreadCluster::ThreadCluster(const SimModel& model, const ExchangeSpec& spec, int size,
                             std::vector<std::pair<Rank, std::string>> placement)
    : network_(MakeInprocNetwork()), members_(size) {
  View view;
  view.number = 1;
  view.members.resize(size);
  for (Rank r = 0; r < size && placement.size() < static_cast<size_t>(size); ++r) {
    placement.emplace_back(r, "worker-" + std::to_string(r));
  }
  for (const auto& [rank, worker_id] : placement) {
    members_[rank].transport = network_->MakeTransport(TransportOptions());
    view.members[rank] = {worker_id, members_[rank].transport->local_address()};
  }
  for (Rank r = 0; r < size; ++r) {
    Member& m = members_[r];
    m.group = m.transport->Join("job", view, r).value();
    m.worker = std::make_unique<SimWorker>(model, spec, size, r, RealClock(), m.group.get());
  }
}

ThreadCluster::~ThreadCluster() {
  for (Member& m : members_) m.group.reset();
}

void ThreadCluster::Run(std::function<void(Rank)> body) {
  std::vector<std::thread> threads;
  for (Rank r = 0; r < size(); ++r) threads.emplace_back([&body, r] { body(r); });
  for (std::thread& thread : threads) thread.join();
}

void ThreadCluster::Train(uint64_t first, uint64_t steps) {
  Run([&](Rank r) {
    for (uint64_t step = first; step < first + steps; ++step) {
      const auto stats = worker(r).Step(step);
      ASSERT_TRUE(stats.ok()) << stats.status();
      members_[r].stats += *stats;
    }
    const auto settled = worker(r).exchange().Settle();
    ASSERT_TRUE(settled.ok()) << settled.status();
    members_[r].stats += *settled;
  });
}

ExchangeSpec SimSpec(absl::string_view payload, absl::string_view overlap) {
  ExchangeSpec spec;
  spec.payload = std::string(payload);
  spec.overlap = std::string(overlap);
  spec.bucket_bytes = 400;
  spec.deadline_seconds = 60;
  return spec;
}

}  // namespace gg
