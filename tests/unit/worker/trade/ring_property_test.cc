// SPDX-License-Identifier: Apache-2.0
//
// Whole rings, one thread per worker, over the in-process transport and over peers that delay and
// reorder: no sample is lost or doubled, whatever the sizes; runs are functions of the seed; every
// worker comes to see every sample.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "core/rng.h"
#include "tests/support/fake_peer_group.h"
#include "tests/unit/worker/trade/trade_samples.h"
#include "worker/trade/sample_ring.h"
#include "worker/transport/inproc/inproc_transport.h"

namespace gg {
namespace {

absl::Time Soon() {
  return RealClock().Now() + absl::Seconds(60);
}

// The ways between `size` workers, of one kind.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual PeerGroup* group(Rank rank) = 0;
};

class DelayedPeers final : public Peers {
 public:
  DelayedPeers(int size, uint64_t seed) : peers_(size, seed) {}
  PeerGroup* group(Rank rank) override { return &peers_.group(rank); }

 private:
  FakePeers peers_;
};

class InprocPeers final : public Peers {
 public:
  explicit InprocPeers(int size) {
    View view;
    for (Rank r = 0; r < size; ++r) {
      transports_.push_back(network_->MakeTransport({}));
      view.members.push_back({absl::StrCat("w", r), transports_.back()->local_address()});
    }
    for (Rank r = 0; r < size; ++r) {
      auto group = transports_[static_cast<size_t>(r)]->Join("job", view, r);
      EXPECT_TRUE(group.ok()) << group.status();
      groups_.push_back(*std::move(group));
    }
  }
  PeerGroup* group(Rank rank) override { return groups_[static_cast<size_t>(rank)].get(); }

 private:
  std::unique_ptr<InprocNetwork> network_ = MakeInprocNetwork();
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
};

struct Scenario {
  int64_t total, batch;
  int size;
  uint64_t steps, seed;
  bool commit_at_once = false;  // instead of one step later
  int max_in_flight = 4;
};

struct Traces {
  std::vector<std::vector<int32_t>> labels;  // by rank, in the order of training
  std::vector<TradeStats> stats;
};

// The step loop of a worker, without the network; a drain every `steps`, as often as `drains` says.
Traces Train(const Scenario& run, const Dataset& set,
             std::vector<std::unique_ptr<ShardStore>>& stores, Peers& peers, int drains,
             const std::function<void(int)>& after_drain) {
  Traces traces;
  traces.labels.resize(static_cast<size_t>(run.size));
  traces.stats.resize(static_cast<size_t>(run.size));
  std::vector<std::unique_ptr<BatchSource>> sources;
  std::vector<std::unique_ptr<SampleRing>> rings;
  for (Rank r = 0; r < run.size; ++r) {
    ShardStore& store = *stores[static_cast<size_t>(r)];
    auto source =
        MakeBatchSource(store, {.batch_size = run.batch,
                                .steps_per_epoch = StepsPerEpoch(run.total, run.size, run.batch),
                                .seed = run.seed,
                                .rank = r});
    EXPECT_TRUE(source.ok()) << source.status();
    sources.push_back(*std::move(source));
    auto ring = MakeSampleRing({.samples_per_trade = std::min(run.batch, run.total / run.size),
                                .deadline = absl::Seconds(30),
                                .max_in_flight = run.max_in_flight},
                               store, peers.group(r), RealClock(), NullMetricSink());
    EXPECT_TRUE(ring.ok()) << ring.status();
    rings.push_back(*std::move(ring));
  }
  for (int drain = 0; drain < drains; ++drain) {
    ForEachRank(run.size, [&](Rank r) {
      BatchSource& source = *sources[static_cast<size_t>(r)];
      SampleRing& ring = *rings[static_cast<size_t>(r)];
      const uint64_t first = static_cast<uint64_t>(drain) * run.steps;
      source.StartNext(first);
      for (uint64_t step = first; step < first + run.steps; ++step) {
        const auto batch = source.Next(step, Soon());
        ASSERT_TRUE(batch.ok()) << batch.status();
        auto& seen = traces.labels[static_cast<size_t>(r)];
        seen.insert(seen.end(), batch->labels.begin(), batch->labels.end());
        const bool last = step + 1 == first + run.steps;
        if (run.commit_at_once) {
          ASSERT_TRUE(ring.Begin(batch->slots).ok());
          ASSERT_TRUE(ring.Commit().ok());
          if (!last) source.StartNext(step + 1);
        } else {
          ASSERT_TRUE(ring.Commit().ok());
          if (!last) source.StartNext(step + 1);
          ASSERT_TRUE(ring.Begin(batch->slots).ok());
        }
      }
      const absl::Status drained = ring.Drain(Soon());
      ASSERT_TRUE(drained.ok()) << drained;
    });
    after_drain(drain);
  }
  for (Rank r = 0; r < run.size; ++r) {
    traces.stats[static_cast<size_t>(r)] = rings[static_cast<size_t>(r)]->stats();
  }
  return traces;
}

enum class Kind { kInproc, kDelayed };

std::unique_ptr<Peers> MakePeers(Kind kind, int size, uint64_t seed) {
  if (kind == Kind::kInproc) return std::make_unique<InprocPeers>(size);
  return std::make_unique<DelayedPeers>(size, seed);
}

class SampleRingProperty : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Transports, SampleRingProperty,
                         ::testing::Values(Kind::kInproc, Kind::kDelayed), [](const auto& suite) {
                           return suite.param == Kind::kInproc ? "Inproc" : "Delayed";
                         });

TEST_P(SampleRingProperty, NoSampleIsLostOrDoubledForAnySizes) {
  Rng rng(11, "test/ring");
  for (int size = 1; size <= 9; ++size) {
    for (int round = 0; round < 6; ++round) {
      Scenario run{.total = size + static_cast<int64_t>(rng.Below(60)),
                   .batch = static_cast<int64_t>(1 + rng.Below(9)),
                   .size = size,
                   .steps = 1 + rng.Below(12),
                   .seed = rng.NextU64()};
      SCOPED_TRACE(absl::StrCat(run.total, " samples, ", size, " workers, batch ", run.batch,
                                ", steps ", run.steps));
      const Dataset set = NumberedSamples(run.total);
      auto stores = ShardsOf(set, size);
      const auto peers = MakePeers(GetParam(), size, run.seed);
      const Traces traces = Train(run, set, stores, *peers, 3,
                                  [&](int) { ASSERT_EQ(Contents(stores, set), set.labels); });
      for (Rank r = 0; r < size; ++r) {
        const TradeStats& stats = traces.stats[static_cast<size_t>(r)];
        ASSERT_EQ(stats.trades_committed, size == 1 ? 0 : 3 * run.steps);
        ASSERT_EQ(stats.trades_begun, stats.trades_committed);
        ASSERT_EQ(stats.samples_sent, stats.samples_received);
        ASSERT_EQ(stores[static_cast<size_t>(r)]->size(), InitialShard(run.total, size, r).count);
      }
    }
  }
}

TEST_P(SampleRingProperty, TheSameSeedTrainsOnTheSameSamplesInTheSameOrder) {
  const auto once = [&](uint64_t delays) {
    const Scenario run{.total = 103, .batch = 5, .size = 5, .steps = 40, .seed = 3};
    const Dataset set = NumberedSamples(run.total);
    auto stores = ShardsOf(set, run.size);
    const auto peers = MakePeers(GetParam(), run.size, delays);
    return Train(run, set, stores, *peers, 1, [](int) {}).labels;
  };
  EXPECT_EQ(once(1), once(2));
}

TEST_P(SampleRingProperty, AfterAsManyEpochsAsWorkersEveryWorkerHasSeenEverySample) {
  for (int size = 1; size <= 5; ++size) {
    Scenario run{.total = 24 * size, .batch = 6, .size = size, .steps = 4, .seed = 17};
    run.commit_at_once = true;
    const Dataset set = NumberedSamples(run.total);
    auto stores = ShardsOf(set, size);
    const auto peers = MakePeers(GetParam(), size, 5);
    const Traces traces = Train(run, set, stores, *peers, size, [](int) {});
    for (const auto& seen : traces.labels) {
      EXPECT_EQ(std::set<int32_t>(seen.begin(), seen.end()).size(), set.labels.size());
      EXPECT_EQ(seen.size(), set.labels.size());  // and none of them twice
    }
  }
}

// One trade in flight at most, and the workers do not wait for one another: trades are skipped and
// made up for.
TEST_P(SampleRingProperty, SkippedTradesAreMadeUpForByDraining) {
  const Scenario run{.total = 67, .batch = 4, .size = 6, .steps = 1, .seed = 8};
  const Dataset set = NumberedSamples(run.total);
  auto stores = ShardsOf(set, run.size);
  const auto peers = MakePeers(GetParam(), run.size, 9);
  std::vector<TradeStats> stats(static_cast<size_t>(run.size));
  ForEachRank(run.size, [&](Rank r) {
    auto ring = MakeSampleRing(
        {.samples_per_trade = 4, .deadline = absl::Seconds(30), .max_in_flight = 1},
        *stores[static_cast<size_t>(r)], peers->group(r), RealClock(), NullMetricSink());
    ASSERT_TRUE(ring.ok());
    Rng rng(1, "test/commits", static_cast<uint64_t>(r));
    for (int64_t step = 0; step < 30; ++step) {
      const std::vector<int64_t> used = {step % 10, (step + 1) % 10, (step + 2) % 10,
                                         (step + 3) % 10};
      ASSERT_TRUE((*ring)->Begin(used).ok());
      if (rng.Below(3) == 0) {
        ASSERT_TRUE((*ring)->Commit().ok());
      }
    }
    const absl::Status drained = (*ring)->Drain(Soon());
    ASSERT_TRUE(drained.ok()) << drained;
    stats[static_cast<size_t>(r)] = (*ring)->stats();
  });
  EXPECT_EQ(Contents(stores, set), set.labels);
  for (const TradeStats& s : stats) {
    EXPECT_EQ(s.trades_committed, 30u);
    EXPECT_GT(s.trades_skipped, 0u);
  }
}

}  // namespace
}  // namespace gg
