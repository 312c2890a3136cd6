// SPDX-License-Identifier: Apache-2.0
// The sample ring over a network that loses, damages, repeats and delays messages: over all workers
// the multiset of samples stays what it was, for any sizes and any seed. Two neighbours cannot both
// know that a last acknowledgement has arrived; what is asked for here is what needs no such
// knowledge: everybody has received everything, and what was sent is given up only then.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/metrics/sink.h"
#include "core/rng.h"
#include "gtest/gtest.h"
#include "tests/support/sim_clock.h"
#include "tests/support/sim_network.h"
#include "tests/unit/worker/trade/trade_samples.h"
#include "worker/trade/sample_ring.h"

namespace gg {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(1);

struct RingScenario {
  int size = 3;
  int64_t total = 40, batch = 4;
  uint64_t steps = 6, epochs = 2, seed = 1;
  double lost = 0, damaged = 0, twice = 0;
  absl::Duration slowest_step = absl::Milliseconds(20), slowest_message = absl::Milliseconds(20);
  bool rendezvous = false;
  std::function<absl::Duration(Rank, uint64_t step)> pause;  // on top of a step
};

class RingCluster {
 public:
  explicit RingCluster(const RingScenario& scenario)
      : s_(scenario),
        set_(NumberedSamples(scenario.total)),
        stores_(ShardsOf(set_, scenario.size)),
        network_(clock_, scenario.size,
                 {.seed = scenario.seed,
                  .max_delay = scenario.slowest_message,
                  .rendezvous = scenario.rendezvous}) {
    network_.fate = [this](Rank from, Rank to, const Tag& tag) {
      Rng rng(s_.seed, absl::StrCat("fate/", from, "/", to, "/", tag.block), tag.step);
      const double chance = rng.Uniform();
      SimFate fate;
      if (chance < s_.lost) {
        fate.kind = SimFate::kVanishes;
      } else if (chance < s_.lost + s_.damaged) {
        fate.kind = SimFate::kIsCorrupt;
      } else if (chance < s_.lost + s_.damaged + s_.twice) {
        fate.kind = SimFate::kArrivesTwice;
      }
      return fate;
    };
    for (Rank r = 0; r < s_.size; ++r) {
      groups_.push_back(network_.Join(r));
      rings_.push_back(
          MakeSampleRing(
              {.samples_per_trade = std::min(s_.batch, s_.total / s_.size), .deadline = kDeadline},
              *stores_[static_cast<size_t>(r)], groups_.back().get(), clock_, NullMetricSink())
              .value());
    }
  }
  ~RingCluster() {
    rings_.clear();
    groups_.clear();
  }

  // Every worker: `epochs` times `steps` batches in the order of the training loop, then a drain.
  void Run(absl::Duration patience) {
    std::vector<std::function<void()>> bodies;
    for (Rank r = 0; r < s_.size; ++r) {
      bodies.push_back([this, r, patience] {
        for (uint64_t epoch = 0; epoch < s_.epochs; ++epoch) {
          RunEpoch(r, epoch);
          const absl::Status drained = ring(r).Drain(clock_.Now() + patience);
          EXPECT_TRUE(drained.ok()) << "rank " << r << " epoch " << epoch << ": " << drained;
        }
      });
    }
    const absl::Status status = clock_.Run(std::move(bodies));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Contents(stores_, set_), set_.labels);
  }

  void RunEpoch(Rank r, uint64_t epoch) {
    const ShardStore& store = *stores_[static_cast<size_t>(r)];
    std::vector<int64_t> order(static_cast<size_t>(store.size()));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    Rng rng(s_.seed, absl::StrCat("order/", r), epoch);
    rng.Shuffle(absl::MakeSpan(order));
    for (uint64_t step = 0; step < s_.steps; ++step) {
      const absl::Status committed = ring(r).Commit();
      EXPECT_TRUE(committed.ok()) << committed;
      std::vector<int64_t> used;
      for (int64_t i = 0; i < s_.batch; ++i) {
        used.push_back(
            order[static_cast<size_t>((static_cast<int64_t>(step) * s_.batch + i) % store.size())]);
      }
      const absl::Status begun = ring(r).Begin(used);
      EXPECT_TRUE(begun.ok()) << begun;
      absl::Duration step_time = s_.slowest_step * rng.Uniform();
      if (s_.pause) step_time += s_.pause(r, epoch * s_.steps + step);
      clock_.Compute(step_time);
    }
  }

  SampleRing& ring(Rank r) { return *rings_[static_cast<size_t>(r)]; }
  SimNetwork& network() { return network_; }
  SimClock& clock() { return clock_; }
  TradeStats total() {
    TradeStats sum;
    for (const auto& ring : rings_) {
      const TradeStats stats = ring->stats();
      sum.trades_committed += stats.trades_committed;
      sum.trades_late += stats.trades_late;
      sum.messages_damaged += stats.messages_damaged;
      sum.messages_repeated += stats.messages_repeated;
      sum.samples_in_doubt += stats.samples_in_doubt;
    }
    return sum;
  }

 private:
  const RingScenario s_;
  const Dataset set_;
  std::vector<std::unique_ptr<ShardStore>> stores_;
  SimClock clock_{absl::Hours(200)};
  SimNetwork network_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
  std::vector<std::unique_ptr<SampleRing>> rings_;
};

TEST(SimRing, NoSampleIsLostOrDoubledWhateverHappensToMessages) {
  uint64_t lost = 0, damaged = 0, repeated = 0, late = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Rng rng(seed, "test/sim-ring");
    RingScenario run;
    run.seed = seed;
    run.size = 2 + static_cast<int>(rng.Below(6));
    run.total = run.size + static_cast<int64_t>(rng.Below(60));
    run.batch = static_cast<int64_t>(1 + rng.Below(8));
    run.steps = 1 + rng.Below(10);
    run.epochs = 1 + rng.Below(3);
    run.lost = rng.Below(2) == 0 ? 0 : 0.3 * rng.Uniform();
    run.damaged = rng.Below(2) == 0 ? 0 : 0.3 * rng.Uniform();
    run.twice = rng.Below(2) == 0 ? 0 : 0.2 * rng.Uniform();
    // Longer than a deadline in every third run: the repetition crosses its original.
    run.slowest_message = seed % 3 == 0 ? 3 * kDeadline : absl::Milliseconds(20);
    run.slowest_step = seed % 5 == 0 ? 2 * kDeadline : absl::Milliseconds(20);
    run.rendezvous = seed % 2 == 0;
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", run.total, " samples, ", run.size,
                              " workers, batch ", run.batch));
    RingCluster cluster(run);
    cluster.Run(absl::Hours(10));
    const TradeStats stats = cluster.total();
    EXPECT_EQ(stats.trades_committed, static_cast<uint64_t>(run.size) * run.steps * run.epochs);
    EXPECT_EQ(stats.samples_in_doubt, 0u);
    lost += cluster.network().vanished();
    damaged += stats.messages_damaged;
    repeated += stats.messages_repeated;
    late += stats.trades_late;
    if (testing::Test::HasFailure()) return;
  }
  // Guards the guard: all of it has happened.
  EXPECT_GT(lost, 100u);
  EXPECT_GT(damaged, 100u);
  EXPECT_GT(repeated, 100u);
  EXPECT_GT(late, 100u);
}

TEST(SimRing, WithoutFaultsNothingIsSentTwiceAndNothingIsLate) {
  RingScenario run;
  run.size = 5;
  run.steps = 30;
  RingCluster cluster(run);
  cluster.Run(absl::Seconds(5));
  EXPECT_EQ(cluster.total().messages_repeated, 0u);
  EXPECT_EQ(cluster.total().trades_late, 0u);
  EXPECT_LT(cluster.clock().elapsed(), absl::Seconds(10));
}

// A lost message costs its receiver one deadline: asked for once, sent once more.
TEST(SimRing, ALostMessageIsAskedForAfterItsDeadline) {
  RingScenario run;
  run.epochs = 1;
  RingCluster cluster(run);
  cluster.network().fate = [](Rank from, Rank, const Tag& tag) {
    SimFate fate;
    if (from == 1 && tag == Tag{Channel::kTrade, 2, 0}) fate.kind = SimFate::kVanishes;
    return fate;
  };
  cluster.Run(absl::Seconds(30));
  EXPECT_EQ(cluster.ring(1).stats().messages_repeated, 1u);
  EXPECT_EQ(cluster.ring(0).stats().trades_late, 1u);
  EXPECT_LT(cluster.clock().elapsed(), absl::Seconds(3));
}

// The receiver has everything and goes on, the sender cannot know until it asks.
TEST(SimRing, ALostLastAcknowledgementIsAskedFor) {
  RingScenario run;
  run.epochs = 1;
  RingCluster cluster(run);
  bool last = true;
  cluster.network().fate = [&last](Rank from, Rank, const Tag& tag) {
    SimFate fate;
    // The notes of rank 0 to rank 1 have the largest blocks but one; the sixth says that trade 5
    // has arrived.
    if (from == 0 && tag.block == 1 << 20 && tag.step == 5 && last) {
      last = false;
      fate.kind = SimFate::kVanishes;
    }
    return fate;
  };
  cluster.Run(absl::Seconds(30));
  EXPECT_FALSE(last);
  EXPECT_EQ(cluster.total().messages_repeated, 0u);
  EXPECT_LT(cluster.clock().elapsed(), absl::Seconds(3));
}

// Who asks for a trade that has not begun gets it at once when it does, and not after asking again.
TEST(SimRing, ATradeAskedForBeforeItBeginsIsSentAsAskedFor) {
  RingScenario run;
  run.size = 2;
  run.steps = 2;
  run.epochs = 1;
  run.pause = [](Rank r, uint64_t step) {
    return r == 1 && step == 0 ? 1.5 * kDeadline : absl::ZeroDuration();
  };
  RingCluster cluster(run);
  cluster.Run(absl::Seconds(30));
  EXPECT_GT(cluster.ring(0).stats().trades_committed, 0u);
  EXPECT_EQ(cluster.total().messages_repeated, 0u);
  EXPECT_LT(cluster.clock().elapsed(), 1.8 * kDeadline);
}

TEST(SimRing, AWorkerThatStandsStillCostsTradesAndNoSample) {
  for (const int size : {2, 3, 5}) {
    RingScenario run;
    run.size = size;
    run.steps = 40;
    run.epochs = 1;
    run.rendezvous = true;
    run.pause = [](Rank r, uint64_t step) {
      return r == 1 && step == 10 ? 20 * kDeadline : absl::ZeroDuration();
    };
    RingCluster cluster(run);
    cluster.Run(absl::Minutes(10));
    EXPECT_GT(cluster.total().trades_late, 0u);
  }
}

TEST(SimRing, ASilentNeighbourIsNamedByItsDrain) {
  RingScenario run;
  RingCluster cluster(run);
  cluster.network().Silence(1);
  std::vector<absl::Status> drained(3);
  std::vector<std::function<void()>> bodies;
  for (Rank r = 0; r < 3; ++r) {
    bodies.push_back([&, r] {
      cluster.RunEpoch(r, 0);
      drained[static_cast<size_t>(r)] =
          cluster.ring(r).Drain(cluster.clock().Now() + absl::Seconds(20));
    });
  }
  ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
  // Rank 2 is held up by rank 0, which has no room for more trades without rank 1.
  EXPECT_EQ(drained[2].code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(drained[0].code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(std::string(drained[0].message()).find("worker-1"), std::string::npos) << drained[0];
  EXPECT_LT(cluster.clock().elapsed(), absl::Seconds(40));
}

}  // namespace
}  // namespace gg
