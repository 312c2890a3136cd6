// SPDX-License-Identifier: Apache-2.0
// The synchronous methods in a whole simulated cluster, and `none`, which meets the others at the end
// alone: messages late and in disorder, a slow worker, a lost one.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "worker/exchange/averager.h"

namespace gg {
namespace {

int ErrorsThatName(const std::string& worker, const std::string& transcript) {
  int named = 0;
  for (size_t at = 0; (at = transcript.find("error", at)) != std::string::npos; ++at) {
    const std::string line = transcript.substr(at, transcript.find('\n', at) - at);
    named += line.find(worker) != std::string::npos;
  }
  return named;
}

class SimMethods : public testing::TestWithParam<std::string> {
 protected:
  SimScenario Scenario(int size) const {
    SimScenario scenario;
    scenario.size = size;
    scenario.steps = 12;
    scenario.spec.algorithm = GetParam();
    scenario.spec.bucket_bytes = 400;
    scenario.spec.period = 3;
    scenario.spec.collective_seconds = 2;
    scenario.spec.asynchronous = false;  // easgd
    return scenario;
  }
  static std::vector<std::vector<float>> Weights(SimCluster& cluster, int size) {
    std::vector<std::vector<float>> weights;
    for (Rank r = 0; r < size; ++r) weights.push_back(cluster.worker(r).Weights());
    return weights;
  }
};

TEST_P(SimMethods, DelaysAndDisorderChangeNoBit) {
  for (const int size : {2, 5, 8}) {
    SimCluster calm(Scenario(size));
    ASSERT_TRUE(calm.Run().ok());
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      SimScenario scenario = Scenario(size);
      scenario.network = {
          .seed = seed, .max_delay = absl::Milliseconds(40), .rendezvous = seed % 2 == 0};
      SimCluster cluster(scenario);
      ASSERT_TRUE(cluster.Run().ok());
      EXPECT_EQ(Weights(cluster, size), Weights(calm, size)) << "seed " << seed;
    }
  }
}

TEST_P(SimMethods, ASlowWorkerIsWaitedFor) {
  SimScenario scenario = Scenario(5);
  scenario.compute = [](Rank rank, uint64_t) { return absl::Milliseconds(rank == 3 ? 50 : 10); };
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < 5; ++r) {
    EXPECT_EQ(cluster.steps_done(r), scenario.steps);
    EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
    EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
    if (GetParam() == "none") {
      EXPECT_EQ(cluster.stats(r).waited, absl::ZeroDuration());
    }
  }
}

// Those that need every worker at every step or period.
class SimCollectives : public SimMethods {};

TEST_P(SimCollectives, ALostWorkerEndsTheRunOfAllAndSomebodyNamesIt) {
  for (const bool silent : {false, true}) {
    SimScenario scenario = Scenario(5);
    scenario.average = false;
    SimCluster cluster(scenario);
    cluster.clock().After(absl::Milliseconds(45), [&] {
      silent ? cluster.network().Silence(2) : cluster.network().Kill(2);
    });
    ASSERT_TRUE(cluster.Run().ok());
    EXPECT_LE(cluster.clock().elapsed(), absl::Seconds(7)) << "at most a few deadlines";
    for (Rank r = 0; r < 5; ++r) {
      if (r == 2) continue;
      EXPECT_LT(cluster.steps_done(r), scenario.steps) << "rank " << r;
    }
    EXPECT_GT(ErrorsThatName("worker-2", cluster.transcript()), 0) << cluster.transcript();
  }
}

TEST_P(SimCollectives, OneMessageThatVanishesEndsTheRunAfterCollectiveSecondsByName) {
  for (const int which : {0, 1, 2}) {  // of those that rank 2 sends from the sixth step on
    SimScenario scenario = Scenario(5);
    scenario.steps = 24;
    scenario.average = false;
    SimCluster cluster(scenario);
    int sent = 0;
    absl::Duration lost_at;
    cluster.network().fate = [&](Rank from, Rank, const Tag&) {
      SimFate fate;
      if (from != 2 || cluster.clock().elapsed() < absl::Milliseconds(51)) return fate;
      if (sent++ == which) {
        fate.kind = SimFate::kVanishes;
        lost_at = cluster.clock().elapsed();
      }
      return fate;
    };
    ASSERT_TRUE(cluster.Run().ok());
    const std::string transcript = cluster.transcript();
    EXPECT_EQ(cluster.network().vanished(), 1u) << transcript;
    for (Rank r = 0; r < 5; ++r) EXPECT_LT(cluster.steps_done(r), scenario.steps) << "rank " << r;
    EXPECT_GT(ErrorsThatName("worker-2", transcript), 0) << transcript;
    const size_t error = transcript.find("error");
    ASSERT_NE(error, std::string::npos) << transcript;
    const std::string first = transcript.substr(transcript.rfind('\n', error) + 1);
    const double waited = std::stod(first) - absl::ToDoubleSeconds(lost_at);
    // Some began to wait before, and for cocod a period after.
    EXPECT_NEAR(waited, scenario.spec.collective_seconds, 0.04) << first;
    EXPECT_LE(cluster.clock().elapsed() - lost_at, absl::Seconds(4.1)) << transcript;
  }
}

TEST_P(SimMethods, TheSameTranscriptTwice) {
  SimScenario scenario = Scenario(4);
  scenario.network = {.seed = 7, .max_delay = absl::Milliseconds(9)};
  SimCluster first(scenario), second(scenario);
  ASSERT_TRUE(first.Run().ok());
  ASSERT_TRUE(second.Run().ok());
  EXPECT_EQ(first.transcript(), second.transcript());
}

std::string NameOf(const testing::TestParamInfo<std::string>& method) {
  std::string name = method.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, SimMethods,
                         testing::Values("allreduce", "allreduce-layerwise", "reduce-scatter",
                                         "periodic-average", "local-sgd", "cocod", "easgd", "none"),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(All, SimCollectives,
                         testing::Values("allreduce", "allreduce-layerwise", "reduce-scatter",
                                         "periodic-average", "local-sgd", "cocod", "easgd"),
                         NameOf);

TEST(SimNone, ALostWorkerCostsTheOthersNoStepAndTheEndNamesIt) {
  for (const bool silent : {false, true}) {
    SimScenario scenario;
    scenario.size = 5;
    scenario.spec.algorithm = "none";
    SimCluster cluster(scenario);
    cluster.clock().After(absl::Milliseconds(45), [&] {
      silent ? cluster.network().Silence(2) : cluster.network().Kill(2);
    });
    ASSERT_TRUE(cluster.Run().ok());
    for (const Rank r : {0, 1, 3, 4}) {
      EXPECT_EQ(cluster.steps_done(r), scenario.steps);
      EXPECT_FALSE(cluster.average_status(r).ok());
    }
    // Whoever is next to it in the ring.
    EXPECT_NE(cluster.transcript().find("worker-2"), std::string::npos) << cluster.transcript();
  }
}

SimScenario OfReduceScatter(int size) {
  SimScenario scenario;
  scenario.size = size;
  scenario.steps = 3;
  scenario.average = false;
  scenario.spec.algorithm = "reduce-scatter";
  scenario.spec.bucket_bytes = 0;  // each of the four blocks on its own
  return scenario;
}

TEST(ReduceScatter, GathersTheFirstLayerFirst) {
  SimCluster cluster(OfReduceScatter(3));
  std::vector<uint64_t> order;  // of the lanes, as rank 0 begins them
  cluster.network().fate = [&](Rank from, Rank, const Tag& tag) {
    const uint64_t lane = tag.step % kCollectivesPerStep;
    if (from == 0 && tag.block == 0) order.push_back(lane);
    return SimFate();
  };
  ASSERT_TRUE(cluster.Run().ok());
  // The last layer's gradients are there first, the first layer's weights are needed first.
  const std::vector<uint64_t> step = {0, 1, 2, 3, 7, 6, 5, 4};
  std::vector<uint64_t> expected;
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), step.begin(), step.end());
  EXPECT_EQ(order, expected);
}

TEST(ReduceScatter, EachStripOfTheMomentumLiesWithOneWorkerUntilTheEnd) {
  for (const int size : {2, 3, 8, 40}) {  // 40: some strips are empty
    SimCluster cluster(OfReduceScatter(size));
    ASSERT_TRUE(cluster.Run().ok());
    const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
    std::vector<std::vector<float>> strips;
    for (Rank r = 0; r < size; ++r) strips.push_back(cluster.worker(r).Momentum());
    std::vector<std::function<void()>> bodies;
    for (Rank r = 0; r < size; ++r) {
      bodies.push_back([&, r] {
        const absl::Time deadline = cluster.clock().Now() + absl::Seconds(5);
        const auto distance = cluster.worker(r).exchange().AverageReplicas(deadline);
        ASSERT_TRUE(distance.ok()) << distance.status();
        EXPECT_EQ(*distance, 0);
        const auto again = cluster.worker(r).exchange().AverageReplicas(deadline);
        ASSERT_TRUE(again.ok()) << again.status();
      });
    }
    ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
    for (const size_t i : offsets) {
      int owners = 0;
      for (Rank r = 0; r < size; ++r) {
        if (strips[r][i] == 0) continue;
        ++owners;
        EXPECT_EQ(strips[r][i], cluster.worker(0).Momentum()[i]);
      }
      EXPECT_EQ(owners, 1) << "parameter " << i;
    }
    for (Rank r = 0; r < size; ++r) {
      EXPECT_EQ(cluster.worker(r).Momentum(), cluster.worker(0).Momentum());
      EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
    }
  }
}

TEST(ReduceScatter, AveragesTheBuffersAtTheEnd) {
  SimScenario scenario = OfReduceScatter(4);
  scenario.model.buffer_floats = 3;
  scenario.average = true;
  SimCluster cluster(scenario);
  for (Rank r = 0; r < 4; ++r) {
    for (float& value : cluster.worker(r).arena().buffers()) value = static_cast<float>(r);
  }
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < 4; ++r) {
    ASSERT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    for (const float value : cluster.worker(r).arena().buffers()) EXPECT_EQ(value, 1.5f);
  }
}

TEST(ReduceScatter, WhoIsMissingAtTheEndIsNamedAndTheWeightsStay) {
  SimCluster cluster(OfReduceScatter(3));
  ASSERT_TRUE(cluster.Run().ok());
  const std::vector<float> weights = cluster.worker(0).Weights();
  cluster.network().Kill(2);
  std::vector<std::function<void()>> bodies;
  for (Rank r = 0; r < 2; ++r) {
    bodies.push_back([&, r] {
      const auto distance =
          cluster.worker(r).exchange().AverageReplicas(cluster.clock().Now() + absl::Seconds(5));
      ASSERT_FALSE(distance.ok());
      EXPECT_NE(distance.status().message().find("worker-"), absl::string_view::npos)
          << distance.status();
    });
  }
  ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
  EXPECT_EQ(cluster.worker(0).Weights(), weights);
}

TEST(ReduceScatter, AValueThatIsNotFiniteEndsTheJobAndSaysSo) {
  SimCluster cluster(OfReduceScatter(3));
  cluster.worker(1).arena().weights()[0] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_NE(cluster.transcript().find("is not finite"), std::string::npos) << cluster.transcript();
}

}  // namespace
}  // namespace gg
