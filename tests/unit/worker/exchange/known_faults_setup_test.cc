// SPDX-License-Identifier: Apache-2.0
// The faults of the two earlier implementations of GossipGraD that lie in how a run is set up and
// in where its messages lie; the others are in known_faults_test.cc.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_clock.h"
#include "tests/support/sim_network.h"
#include "tests/support/sim_threads.h"
#include "tests/support/sim_worker.h"

namespace gg {
namespace {

// Passes everything on, and remembers which memory was lent.
class RecordingGroup final : public PeerGroup {
 public:
  explicit RecordingGroup(std::unique_ptr<PeerGroup> inner) : inner_(std::move(inner)) {}
  const View& view() const override { return inner_->view(); }
  Rank self() const override { return inner_->self(); }
  void Send(Rank to, Tag tag, ConstBytes from, Done done) override {
    if (tag.channel == Channel::kExchange && from.size() > 64) {
      sent[tag.block].insert(from.data());
      sent_bytes += from.size();
    }
    inner_->Send(to, tag, from, std::move(done));
  }
  void Recv(Rank from, Tag tag, Bytes into, Done done) override {
    if (tag.channel == Channel::kExchange && into.size() > 64) {
      received[tag.block].insert(into.data());
    }
    inner_->Recv(from, tag, into, std::move(done));
  }
  void CancelRecv(Rank from, Tag tag) override { inner_->CancelRecv(from, tag); }
  void Expire(Channel channel, uint64_t step) override { inner_->Expire(channel, step); }
  PeerStats stats() const override { return inner_->stats(); }
  std::string DescribePeer(Rank peer) const override { return inner_->DescribePeer(peer); }

  std::map<uint32_t, std::set<const uint8_t*>> sent, received;  // by unit
  uint64_t sent_bytes = 0;

 private:
  std::unique_ptr<PeerGroup> inner_;
};

// MaTEx: every message went through a pageable buffer of the host on its way. Here the transport is
// lent the snapshot itself, from a few buffers that the device gave once and that are used again,
// so that a device may pin them and a network card register them.
TEST(MaTEx, MessagesLieInAFewBuffersOfTheDeviceAndAreNotStaged) {
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      SimClock clock;
      SimNetwork network(clock, 2, {.max_delay = absl::Milliseconds(3)});
      const ExchangeSpec spec = SimSpec(payload, overlap);
      std::vector<std::unique_ptr<SimWorker>> workers;
      std::vector<std::unique_ptr<RecordingGroup>> groups;
      for (Rank r = 0; r < 2; ++r) {
        groups.push_back(std::make_unique<RecordingGroup>(network.Join(r)));
        workers.push_back(
            std::make_unique<SimWorker>(SimModel(), spec, 2, r, clock, groups.back().get()));
      }
      std::vector<std::function<void()>> bodies;
      uint64_t bytes = 0;
      for (Rank r = 0; r < 2; ++r) {
        bodies.push_back([&, r] {
          for (uint64_t step = 0; step < 50; ++step) {
            clock.Compute(absl::Milliseconds(10));
            const auto stats = workers[static_cast<size_t>(r)]->Step(step);
            ASSERT_TRUE(stats.ok()) << stats.status();
            if (r == 0) bytes += stats->bytes_sent;
          }
          ASSERT_TRUE(workers[static_cast<size_t>(r)]->exchange().Settle().ok());
        });
      }
      ASSERT_TRUE(clock.Run(std::move(bodies)).ok());
      const RecordingGroup& group = *groups[0];
      EXPECT_EQ(group.sent_bytes, bytes) << "every byte is lent once";
      ASSERT_FALSE(group.sent.empty());
      const ParamArena& arena = workers[0]->arena();
      const auto* live = reinterpret_cast<const uint8_t*>(workers[0]->arena().weights().data());
      for (const auto* memory : {&group.sent, &group.received}) {
        for (const auto& [unit, addresses] : *memory) {
          // Two snapshots take turns; one receive buffer.
          EXPECT_LE(addresses.size(), memory == &group.sent ? 2u : 1u) << payload << " " << overlap;
          for (const uint8_t* address : addresses) {
            EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0u) << "not the device's memory";
            EXPECT_FALSE(address >= live && address < live + arena.size() * sizeof(float));
          }
        }
      }
      for (auto& owned : groups) owned.reset();
    }
  }
}

// torchdistx: took the ranks of one host to be neighbours, as many on each. Here a rank is a place
// in the view and nothing else: which worker, of which host, holds it changes no bit.
TEST(Torchdistx, AnyPlacementOfRanksOnHostsTrainsTheSame) {
  constexpr int kSize = 5;
  const ExchangeSpec spec = SimSpec("weights-momentum", "layerwise");
  ThreadCluster contiguous(SimModel(), spec, kSize);
  contiguous.Train(0, 12);
  // Three workers of one host and two of another, mixed; ids that say nothing of ranks.
  ThreadCluster mixed(
      SimModel(), spec, kSize,
      {{3, "host-b/7"}, {0, "host-a/1"}, {4, "host-b/0"}, {1, "host-a/0"}, {2, "host-b/12"}});
  mixed.Train(0, 12);
  for (Rank r = 0; r < kSize; ++r) {
    EXPECT_EQ(mixed.worker(r).Weights(), contiguous.worker(r).Weights()) << "rank " << r;
    EXPECT_EQ(mixed.stats(r).exchanges_skipped, 0u);
    EXPECT_GT(mixed.stats(r).exchanges_done, 0u) << "an idle worker";
  }
}

// torchdistx: its documentation warns of a hang when a process was not set up before. Here what is
// not set up is an error at once, and a worker that never takes part is named at a deadline.
TEST(Torchdistx, AWorkerThatWasNeverSetUpIsNamedAndNobodyHangs) {
  SimClock clock;
  SimNetwork network(clock, 3, {});
  ExchangeSpec spec = SimSpec("weights-momentum", "layerwise");
  spec.deadline_seconds = 1;
  std::vector<std::unique_ptr<PeerGroup>> groups;
  std::vector<std::unique_ptr<SimWorker>> workers;
  for (Rank r = 0; r < 3; ++r) groups.push_back(network.Join(r));
  for (Rank r = 0; r < 2; ++r) {  // the third one joins the view, and no more
    workers.push_back(std::make_unique<SimWorker>(SimModel(), spec, 3, r, clock,
                                                  groups[static_cast<size_t>(r)].get()));
  }
  std::vector<absl::Status> average(2);
  std::vector<std::function<void()>> bodies;
  for (Rank r = 0; r < 2; ++r) {
    bodies.push_back([&, r] {
      SimWorker& worker = *workers[static_cast<size_t>(r)];
      for (uint64_t step = 0; step < 8; ++step) {
        const auto stats = worker.Step(step);
        ASSERT_TRUE(stats.ok()) << stats.status();
      }
      ASSERT_TRUE(worker.exchange().Settle().ok());
      average[static_cast<size_t>(r)] =
          worker.exchange().AverageReplicas(clock.Now() + absl::Seconds(10)).status();
    });
  }
  ASSERT_TRUE(clock.Run(std::move(bodies)).ok());
  EXPECT_LT(clock.elapsed(), absl::Seconds(8 + 10 + 1));
  bool named = false;
  for (Rank r = 0; r < 2; ++r) {
    const SimWorker& worker = *workers[static_cast<size_t>(r)];
    ASSERT_FALSE(worker.incidents().empty());
    EXPECT_EQ(worker.incidents()[0].worker_id, "worker-2");
    EXPECT_EQ(average[static_cast<size_t>(r)].code(), absl::StatusCode::kDeadlineExceeded);
    named |= average[static_cast<size_t>(r)].message().find("worker-2") != absl::string_view::npos;
  }
  EXPECT_TRUE(named) << average[0] << "\n" << average[1];
  for (auto& group : groups) group.reset();
}

TEST(Torchdistx, WhatIsNotSetUpIsAnErrorAtOnce) {
  const auto code = [](PeerGroup* group, int size, Rank rank) {
    ExchangeContext context;
    context.size = size;
    context.rank = rank;
    context.group = group;
    return MakeExchange(std::move(context)).status().code();
  };
  SimClock clock;
  SimNetwork network(clock, 2, {});
  const auto group = network.Join(0);
  EXPECT_EQ(code(nullptr, 2, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(group.get(), 3, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(group.get(), 2, 1), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
