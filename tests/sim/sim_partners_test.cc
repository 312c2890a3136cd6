// SPDX-License-Identifier: Apache-2.0
// The methods that exchange models with partners, in a whole simulated cluster: messages late, in
// disorder and lost, a slow worker, a lost one.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"

namespace gg {
namespace {

struct Method {
  const char* algorithm;
  const char* overlap;
};

SimScenario ScenarioOf(const Method& method, int size) {
  SimScenario scenario;
  scenario.size = size;
  scenario.steps = 12;
  scenario.spec.algorithm = method.algorithm;
  scenario.spec.overlap = method.overlap;
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1;
  return scenario;
}

// After Run with the closing average.
void ExpectTheMeanAlone(SimCluster& cluster, const SimScenario& scenario) {
  for (Rank r = 0; r < scenario.size; ++r) {
    ASSERT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    for (const size_t i : cluster.worker(r).ParameterOffsets()) {
      ASSERT_NEAR(cluster.worker(r).arena().weights()[i],
                  scenario.model.MeanAfter(scenario.steps, scenario.size, i), 4e-6)
          << "rank " << r << " parameter " << i;
    }
  }
}

class SimPartners : public testing::TestWithParam<Method> {
 protected:
  static bool pushes() { return std::string(GetParam().algorithm) == "sgp"; }
  static SimScenario Scenario(int size) { return ScenarioOf(GetParam(), size); }
};

TEST_P(SimPartners, DelaysAndDisorderKeepTheMean) {
  for (const char* encoding : {"fp32", "bf16", "fp16", "int8"}) {
    for (const int size : {2, 3, 5, 8}) {
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        SimScenario scenario = Scenario(size);
        scenario.model.curvature = 0;
        scenario.spec.encoding = encoding;
        scenario.network = {
            .seed = seed, .max_delay = absl::Milliseconds(40), .rendezvous = seed % 2 == 0};
        scenario.compute = [seed](Rank r, uint64_t step) {
          return absl::Milliseconds(5 + (7 * static_cast<uint64_t>(r) + 5 * step + seed) % 30);
        };
        SimCluster cluster(scenario);
        ASSERT_TRUE(cluster.Run().ok());
        ExpectTheMeanAlone(cluster, scenario);
        for (Rank r = 0; r < size; ++r) EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
      }
    }
  }
}

TEST_P(SimPartners, ASlowWorkerIsWaitedForWithinTheDeadlineAndHoldsNobodyUpBeyondIt) {
  for (const double deadline : {1.0, 0.02}) {
    SimScenario scenario = Scenario(5);
    scenario.steps = 40;
    scenario.model.curvature = 0;
    scenario.spec.deadline_seconds = deadline;
    scenario.compute = [](Rank rank, uint64_t) { return absl::Milliseconds(rank == 3 ? 50 : 10); };
    scenario.limit = absl::Seconds(20);
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.Run().ok());
    for (Rank r = 0; r < 5; ++r) {
      EXPECT_EQ(cluster.steps_done(r), scenario.steps);
      ASSERT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
      for (const float w : cluster.worker(r).Weights()) ASSERT_TRUE(std::isfinite(w));
      // Who is not waited for gives away no more of its weight than its updates can bear.
      EXPECT_EQ(cluster.worker(r).metrics().counter(CounterId::kGossipSkipped, "norm"), 0);
    }
    // Push-sum forgives the lateness; to leave a neighbour out does not keep the mean.
    if (pushes() || deadline == 1.0) ExpectTheMeanAlone(cluster, scenario);
  }
}

TEST_P(SimPartners, AfterAPausePeriodicAveragesSucceedAgain) {
  SimScenario scenario = Scenario(4);
  scenario.steps = 200;
  scenario.spec.deadline_seconds = 0.05;
  scenario.spec.average_every = 4;
  scenario.compute = [](Rank rank, uint64_t step) {
    return rank == 3 && step == 20 ? absl::Seconds(1) : absl::Milliseconds(10);
  };
  scenario.limit = absl::Minutes(2);
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < 4; ++r) {
    EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    // Of 50. Those of the pause fail, and a few until all are in step.
    EXPECT_LE(cluster.worker(r).metrics().counter(CounterId::kGossipSkipped, "average"), 25);
  }
}

TEST_P(SimPartners, WhoTrainsOnAloneKeepsItsModel) {
  SimScenario scenario = Scenario(4);
  scenario.steps = 30;
  scenario.spec.deadline_seconds = 0.02;
  // Steps that are stable by a factor of 3, not of 16.
  scenario.model.curvature = 4;
  scenario.compute = [](Rank rank, uint64_t step) {
    return rank == 3 && step == 4 ? absl::Seconds(3) : absl::Milliseconds(10);
  };
  scenario.average = false;
  scenario.limit = absl::Minutes(2);
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < 4; ++r) {
    for (const size_t i : cluster.worker(r).ParameterOffsets()) {
      EXPECT_LE(std::abs(cluster.worker(r).arena().weights()[i]), 5) << "rank " << r;
    }
  }
}

TEST_P(SimPartners, ALostWorkerIsNamedAndTheOthersGoOn) {
  for (const bool silent : {false, true}) {
    SimScenario scenario = Scenario(5);
    scenario.spec.deadline_seconds = 0.1;
    scenario.steps = 30;
    scenario.limit = absl::Minutes(2);
    SimCluster cluster(scenario);
    cluster.clock().After(absl::Milliseconds(45), [&] {
      silent ? cluster.network().Silence(2) : cluster.network().Kill(2);
    });
    ASSERT_TRUE(cluster.Run().ok());
    int named = 0;
    for (Rank r = 0; r < 5; ++r) {
      if (r == 2) continue;
      EXPECT_EQ(cluster.steps_done(r), scenario.steps) << "rank " << r;
      EXPECT_FALSE(cluster.average_status(r).ok());
      for (const float w : cluster.worker(r).Weights()) ASSERT_TRUE(std::isfinite(w));
      for (const PartnerIncident& incident : cluster.worker(r).incidents()) {
        named += incident.worker_id == "worker-2";
      }
    }
    EXPECT_GT(named, 0) << cluster.transcript();
  }
}

TEST_P(SimPartners, NobodyHangsWhateverIsLost) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SimScenario scenario = Scenario(2 + static_cast<int>(seed) % 8);
    scenario.steps = 20;
    scenario.average = false;
    scenario.network.seed = seed;
    scenario.network.drop_share = seed % 3 == 0 ? 0.5 : 0.1;
    scenario.network.max_delay = absl::Milliseconds(seed % 2 == 0 ? 50 : 1500);
    scenario.network.rendezvous = seed % 4 == 1;
    scenario.compute = [seed](Rank r, uint64_t) {
      return absl::Milliseconds(10 * (1 + (static_cast<uint64_t>(r) + seed) % 3));
    };
    scenario.limit = 2 * scenario.steps * absl::Seconds(scenario.spec.deadline_seconds);
    SimCluster cluster(scenario);
    const absl::Status status = cluster.Run();
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status;
    for (Rank r = 0; r < scenario.size; ++r) {
      EXPECT_EQ(cluster.steps_done(r), scenario.steps);
      for (const float w : cluster.worker(r).Weights()) ASSERT_TRUE(std::isfinite(w));
    }
  }
}

TEST_P(SimPartners, TheSameTranscriptTwice) {
  for (const double drop_share : {0.0, 0.1}) {
    SimScenario scenario = Scenario(5);
    scenario.network = {.seed = 7, .max_delay = absl::Milliseconds(9), .drop_share = drop_share};
    SimCluster first(scenario), second(scenario);
    ASSERT_TRUE(first.Run().ok());
    ASSERT_TRUE(second.Run().ok());
    EXPECT_EQ(first.transcript(), second.transcript());
  }
}

TEST_P(SimPartners, AValueThatIsNotFiniteIsRefusedAndItsSenderNamed) {
  SimScenario scenario = Scenario(3);
  scenario.average = false;
  SimCluster cluster(scenario);
  cluster.worker(1).arena().weights()[0] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(cluster.Run().ok());
  for (const Rank r : {0, 2}) {
    for (const float w : cluster.worker(r).Weights()) ASSERT_TRUE(std::isfinite(w));
    EXPECT_GT(cluster.worker(r).metrics().counter(CounterId::kGossipSkipped, "nonfinite"), 0);
    ASSERT_FALSE(cluster.worker(r).incidents().empty());
    EXPECT_EQ(cluster.worker(r).incidents()[0].reason, "nonfinite");
    EXPECT_EQ(cluster.worker(r).incidents()[0].worker_id, "worker-1");
  }
}

TEST_P(SimPartners, APeriodicAverageMakesTheReplicasEqualAndKeepsTheMean) {
  SimScenario scenario = Scenario(5);
  scenario.model.curvature = 0;
  scenario.spec.average_every = 4;
  scenario.average = false;
  scenario.network.max_delay = absl::Milliseconds(4);
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.RunSteps(0, 4).ok());
  for (Rank r = 1; r < 5; ++r) {
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
  }
  SimScenario whole = scenario;
  whole.average = true;
  SimCluster to_the_end(whole);
  ASSERT_TRUE(to_the_end.Run().ok());
  ExpectTheMeanAlone(to_the_end, whole);
}

INSTANTIATE_TEST_SUITE_P(All, SimPartners,
                         testing::Values(Method{"d-psgd", "layerwise"}, Method{"sgp", "none"},
                                         Method{"sgp", "layerwise"}, Method{"sgp", "step"}),
                         [](const auto& method) {
                           const std::string name = method.param.algorithm;
                           return name == "sgp" ? name + "_" + method.param.overlap : "d_psgd";
                         });

TEST(SimDPsgd, ANeighbourThatIsMissingIsLeftOutOfTheSum) {
  SimScenario scenario = ScenarioOf({"d-psgd", "none"}, 3);
  scenario.model.curvature = 0;
  scenario.model.noise = false;
  scenario.average = false;
  SimCluster cluster(scenario);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (Rank r = 0; r < 3; ++r) {
    for (const size_t i : offsets)
      cluster.worker(r).arena().weights()[i] = static_cast<float>(3 * r);
  }
  // Rank 0 does not get what rank 2 sends.
  cluster.network().fate = [](Rank from, Rank to, const Tag&) {
    return from == 2 && to == 0 ? SimFate{SimFate::kIsCorrupt, {}} : SimFate();
  };
  ASSERT_TRUE(cluster.RunSteps(0, 1).ok());
  for (const size_t i : offsets) {
    EXPECT_EQ(cluster.worker(0).arena().weights()[i], 1.0f) << "0 + (3 - 0) / 3";
    EXPECT_EQ(cluster.worker(1).arena().weights()[i], 3.0f);
    EXPECT_EQ(cluster.worker(2).arena().weights()[i], 3.0f) << "6 + (0 - 6) / 3 + (3 - 6) / 3";
  }
  ASSERT_EQ(cluster.worker(0).incidents().size(), 1u);
  EXPECT_EQ(cluster.worker(0).incidents()[0].worker_id, "worker-2");
  EXPECT_EQ(cluster.worker(0).incidents()[0].reason, "corrupt");
  EXPECT_EQ(cluster.stats(0).exchanges_skipped, 2u) << "two units";
}

// Push-sum with pushes that are taken in when the next step begins: between the steps of this test
// everything arrives.
TEST(SimSgp, OverlappedItFollowsTheDenseOracleOfPushSum) {
  for (int size = 2; size <= 9; ++size) {
    for (const int delay_ms : {1, 15, 25}) {
      SimScenario scenario = ScenarioOf({"sgp", "step"}, size);
      scenario.network = {.min_delay = absl::Milliseconds(delay_ms),
                          .max_delay = absl::Milliseconds(delay_ms)};
      SimCluster cluster(scenario);
      const SimModel& model = scenario.model;
      const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
      const auto schedule =
          MakeSchedule("dissemination", {.size = size, .seed = model.seed, .rotate = true}).value();
      using Vectors = std::vector<std::vector<double>>;
      Vectors x(size), v(size, std::vector<double>(offsets.size()));
      std::vector<double> weight(size, 1);
      for (auto& numerators : x) {
        for (const size_t i : offsets) numerators.push_back(static_cast<float>(model.Initial(i)));
      }
      std::vector<Vectors> pushed;  // by step
      std::vector<std::vector<double>> pushed_weight;
      for (uint64_t step = 0; step < 13; ++step) {
        for (Rank r = 0; r < size && step >= 1; ++r) {
          const Rank from = schedule->At(r, step - 1).recv_from;
          for (size_t k = 0; k < offsets.size(); ++k) x[r][k] += pushed[step - 1][from][k];
          weight[r] += pushed_weight[step - 1][from];
        }
        for (Rank r = 0; r < size; ++r) {
          for (size_t k = 0; k < offsets.size(); ++k) {
            const double z = x[r][k] / weight[r];
            const double g = model.curvature * (z - model.Target(r, offsets[k])) +
                             model.Noise(r, step, offsets[k]);
            v[r][k] = model.momentum * v[r][k] + model.Rate(step) * g;
            x[r][k] = (x[r][k] - v[r][k]) / 2;
          }
          weight[r] /= 2;
        }
        pushed.push_back(x);
        pushed_weight.push_back(weight);
        ASSERT_TRUE(cluster.RunSteps(step, 1).ok());
        for (Rank r = 0; r < size; ++r) {
          for (size_t k = 0; k < offsets.size(); ++k) {
            ASSERT_NEAR(cluster.worker(r).Weights()[offsets[k]], x[r][k] / weight[r], 4e-6)
                << "step " << step << " rank " << r << " of " << size;
          }
        }
      }
    }
  }
}

TEST(SimSgp, APushThatCannotLeaveIsTakenBack) {
  SimScenario scenario = ScenarioOf({"sgp", "none"}, 3);
  scenario.model.curvature = 0;
  scenario.model.noise = false;
  scenario.average = false;
  scenario.spec.deadline_seconds = 0.05;
  SimCluster cluster(scenario);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (Rank r = 0; r < 3; ++r) {
    for (const size_t i : offsets)
      cluster.worker(r).arena().weights()[i] = static_cast<float>(3 * r);
  }
  cluster.network().Kill(2);
  ASSERT_TRUE(cluster.RunSteps(0, 12).ok());
  // Had halves been lost, the mean of the two would still be between them, but not in the middle.
  for (const size_t i : offsets) {
    const float own = cluster.worker(0).arena().weights()[i];
    EXPECT_NEAR(own + cluster.worker(1).arena().weights()[i], 3.0f, 0.2f);
  }
  EXPECT_GT(cluster.worker(0).metrics().counter(CounterId::kGossipSkipped, "send_failed") +
                cluster.worker(1).metrics().counter(CounterId::kGossipSkipped, "send_failed"),
            0);
}

}  // namespace
}  // namespace gg
