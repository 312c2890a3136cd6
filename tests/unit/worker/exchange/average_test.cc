// SPDX-License-Identifier: Apache-2.0
// The exact average over all replicas: periodic, final, for any number of workers, and when
// somebody is missing.
#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "tests/support/sim_cluster.h"
#include "worker/exchange/ring_average.h"

namespace gg {
namespace {

// RingAverage of `count` floats over `size` workers; worker r contributes r + i.
std::vector<std::vector<float>> Ring(int size, size_t count, SimNetwork& network, SimClock& clock,
                                     std::vector<RingOutcome>* outcomes) {
  const auto device = MakeReferenceDevice();
  std::vector<std::unique_ptr<PeerGroup>> groups;
  std::vector<std::shared_ptr<RingState>> states;
  std::vector<std::function<void()>> bodies;
  outcomes->assign(size, RingOutcome());
  for (Rank r = 0; r < size; ++r) {
    groups.push_back(network.Join(r));
    auto state = std::make_shared<RingState>();
    state->count = count;
    state->values = device->Allocate(count * sizeof(float)).value();
    state->arrival = device->Allocate(RingScratchFloats(count, size) * sizeof(float)).value();
    for (size_t i = 0; i < count; ++i) {
      state->values->floats()[i] = static_cast<float>(r) + static_cast<float>(i);
    }
    states.push_back(state);
    bodies.push_back([&, r] {
      (*outcomes)[r] = RingAverage(*groups[r], clock, 7, clock.Now() + absl::Seconds(5), states[r]);
    });
  }
  EXPECT_TRUE(clock.Run(std::move(bodies)).ok());
  std::vector<std::vector<float>> values;
  for (const auto& state : states) {
    const Flat floats = state->values->floats().subspan(0, count);
    values.emplace_back(floats.begin(), floats.end());
  }
  groups.clear();
  return values;
}

TEST(RingAverage, ServesAnyNumberOfWorkersAndFloats) {
  for (int size = 2; size <= 9; ++size) {
    for (const size_t count : {1u, 2u, 3u, 7u, 64u, 101u}) {
      SimClock clock;
      SimNetwork network(clock, size, {.max_delay = absl::Milliseconds(5)});
      std::vector<RingOutcome> outcomes;
      const auto values = Ring(size, count, network, clock, &outcomes);
      for (Rank r = 0; r < size; ++r) {
        ASSERT_TRUE(outcomes[r].status.ok()) << outcomes[r].status;
        EXPECT_EQ(values[r], values[0]) << "not the same bits";
        EXPECT_EQ(outcomes[r].messages_sent, 2u * (size - 1));
        for (size_t i = 0; i < count; ++i) {
          EXPECT_NEAR(values[r][i], (size - 1) / 2.0 + static_cast<double>(i), 1e-5);
        }
      }
      uint64_t bytes = 0;
      for (const RingOutcome& outcome : outcomes) bytes += outcome.bytes_sent;
      EXPECT_EQ(bytes, 2 * (size - 1) * count * sizeof(float));
    }
  }
}

TEST(RingAverage, EverySurvivorNamesTheWorkerThatIsMissing) {
  for (const bool silent : {false, true}) {
    for (Rank missing = 0; missing < 5; ++missing) {
      SimClock clock;
      SimNetwork network(clock, 5, {});
      if (silent) {
        network.Silence(missing);
      } else {
        network.Kill(missing);
      }
      std::vector<RingOutcome> outcomes;
      Ring(5, 40, network, clock, &outcomes);
      for (Rank r = 0; r < 5; ++r) {
        if (r == missing) continue;
        EXPECT_FALSE(outcomes[r].status.ok());
        EXPECT_EQ(outcomes[r].missing, missing) << "rank " << r << ": " << outcomes[r].status;
        EXPECT_NE(outcomes[r].status.message().find("worker-" + std::to_string(missing)),
                  absl::string_view::npos);
      }
      EXPECT_LE(clock.elapsed(), absl::Seconds(5.1));
    }
  }
}

SimScenario Scenario(int size) {
  SimScenario scenario;
  scenario.size = size;
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1;
  scenario.model.buffer_floats = 3;
  return scenario;
}

TEST(FinalAverage, AFailureLeavesTheReplicasOwnWeights) {
  SimScenario scenario = Scenario(3);
  scenario.average = false;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  const std::vector<float> before = cluster.worker(0).Weights();
  cluster.network().Silence(2);
  absl::Status status;
  ASSERT_TRUE(cluster.clock()
                  .Run({[&] {
                    status = cluster.worker(0)
                                 .exchange()
                                 .AverageReplicas(cluster.clock().Now() + absl::Seconds(2))
                                 .status();
                  }})
                  .ok());
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("rank 2 (worker-2)"), absl::string_view::npos) << status;
  EXPECT_EQ(cluster.worker(0).Weights(), before);
}

TEST(FinalAverage, AReplicaThatHasDivergedSpoilsNobody) {
  SimScenario scenario = Scenario(3);
  scenario.average = false;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  cluster.worker(1).arena().weights()[0] = std::numeric_limits<float>::quiet_NaN();
  std::vector<absl::Status> statuses(3);
  std::vector<std::function<void()>> bodies;
  for (Rank r = 0; r < 3; ++r) {
    bodies.push_back([&, r] {
      statuses[r] = cluster.worker(r).exchange().AverageReplicas(absl::InfiniteFuture()).status();
    });
  }
  ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
  for (Rank r = 0; r < 3; ++r) EXPECT_EQ(statuses[r].code(), absl::StatusCode::kDataLoss);
  for (const Rank r : {0, 2}) {
    for (const float w : cluster.worker(r).Weights()) EXPECT_TRUE(std::isfinite(w));
  }
}

TEST(FinalAverage, CanBeAskedForTwice) {
  SimCluster cluster(Scenario(3));
  ASSERT_TRUE(cluster.Run().ok());
  std::vector<double> distances(3, -1);
  std::vector<std::function<void()>> bodies;
  for (Rank r = 0; r < 3; ++r) {
    bodies.push_back([&, r] {
      const auto d = cluster.worker(r).exchange().AverageReplicas(absl::InfiniteFuture());
      if (d.ok()) distances[r] = *d;
    });
  }
  ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
  for (const double d : distances) EXPECT_NEAR(d, 0, 1e-6);
}

TEST(PeriodicAverage, MakesTheReplicasEqualEveryNSteps) {
  for (const char* algorithm : {"gossip-grad", "none"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      SimScenario scenario = Scenario(3);
      scenario.spec.algorithm = algorithm;
      scenario.spec.payload = "gradients";
      scenario.spec.overlap = overlap;
      scenario.spec.average_every = 4;
      SimCluster cluster(scenario);
      ASSERT_TRUE(cluster.RunSteps(0, 3).ok());
      EXPECT_NE(cluster.worker(0).Weights(), cluster.worker(1).Weights());
      ASSERT_TRUE(cluster.RunSteps(3, 1).ok());
      EXPECT_EQ(cluster.worker(0).Weights(), cluster.worker(1).Weights()) << algorithm << overlap;
      EXPECT_EQ(cluster.worker(0).Momentum(), cluster.worker(2).Momentum());
      ASSERT_TRUE(cluster.RunSteps(4, 4).ok());
      EXPECT_EQ(cluster.worker(0).Weights(), cluster.worker(1).Weights());
      EXPECT_TRUE(cluster.worker(0).incidents().empty());
    }
  }
}

TEST(PeriodicAverage, GoesOnWithoutAWorkerThatIsMissing) {
  SimScenario scenario = Scenario(3);
  scenario.spec.algorithm = "none";
  scenario.spec.average_every = 4;
  scenario.average = false;
  SimCluster cluster(scenario);
  cluster.clock().After(absl::Milliseconds(25), [&] { cluster.network().Kill(1); });
  ASSERT_TRUE(cluster.Run().ok());
  for (const Rank r : {0, 2}) {
    EXPECT_EQ(cluster.steps_done(r), 8u);
    ASSERT_FALSE(cluster.worker(r).incidents().empty());
    EXPECT_EQ(cluster.worker(r).incidents()[0].partner, 1);
    EXPECT_EQ(cluster.worker(r).metrics().counter(CounterId::kGossipSkipped, "average"), 2);
  }
}

// Running statistics of normalisation travel in no message of gossip-grad; only averages carry them.
TEST(PeriodicAverage, BuffersAreAveragedToo) {
  SimScenario scenario;
  scenario.size = 3;
  scenario.model.buffer_floats = 7;
  scenario.spec.algorithm = "gossip-grad";
  scenario.spec.average_every = 4;
  scenario.spec.encoding = "int8";  // of the exchange, not of the average
  SimCluster cluster(scenario);
  for (Rank r = 0; r < 3; ++r) {
    for (int i = 0; i < 7; ++i) {
      cluster.worker(r).arena().buffers()[i] = 0.1f * static_cast<float>(r) + static_cast<float>(i);
    }
  }
  ASSERT_TRUE(cluster.RunSteps(0, 3).ok());
  EXPECT_EQ(cluster.worker(1).arena().buffers()[2], 0.1f + 2.0f);
  ASSERT_TRUE(cluster.RunSteps(3, 1).ok());
  for (Rank r = 0; r < 3; ++r) {
    for (int i = 0; i < 7; ++i) {
      EXPECT_NEAR(cluster.worker(r).arena().buffers()[i], 0.1 + i, 1e-6);
      EXPECT_EQ(cluster.worker(r).arena().buffers()[i], cluster.worker(0).arena().buffers()[i]);
    }
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
  }
}

}  // namespace
}  // namespace gg
