// SPDX-License-Identifier: Apache-2.0
// The synchronous methods in a whole simulated cluster: messages late and in disorder, a slow worker,
// a lost one.
#include <string>

#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"

namespace gg {
namespace {

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
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
  }
}

TEST_P(SimMethods, ALostWorkerEndsTheRunOfAllAndSomebodyNamesIt) {
  for (const bool silent : {false, true}) {
    SimScenario scenario = Scenario(5);
    scenario.average = false;
    SimCluster cluster(scenario);
    cluster.clock().After(absl::Milliseconds(45), [&] {
      silent ? cluster.network().Silence(2) : cluster.network().Kill(2);
    });
    ASSERT_TRUE(cluster.Run().ok());
    EXPECT_LE(cluster.clock().elapsed(), absl::Seconds(7)) << "at most a few deadlines";
    int named = 0;
    for (Rank r = 0; r < 5; ++r) {
      if (r == 2) continue;
      EXPECT_LT(cluster.steps_done(r), scenario.steps) << "rank " << r;
    }
    const std::string transcript = cluster.transcript();
    for (size_t at = 0; (at = transcript.find("error", at)) != std::string::npos; ++at) {
      const std::string line = transcript.substr(at, transcript.find('\n', at) - at);
      named += line.find("worker-2") != std::string::npos;
    }
    EXPECT_GT(named, 0) << transcript;
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

INSTANTIATE_TEST_SUITE_P(All, SimMethods,
                         testing::Values("allreduce", "allreduce-layerwise", "periodic-average",
                                         "local-sgd", "cocod"),
                         [](const auto& method) {
                           std::string name = method.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace gg
