// SPDX-License-Identifier: Apache-2.0
// The methods in which nobody waits, in a whole simulated cluster: messages late, in disorder and
// lost, a worker five times slower, one that dies. What is kept whatever happens: the sum of weights,
// of models, of models and centre.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "coordinator/state/results.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "worker/exchange/gosgd.h"

namespace gg {
namespace {

using Values = std::vector<double>;

class SimAsync : public testing::TestWithParam<std::string> {
 protected:
  SimScenario Scenario(int size) const {
    SimScenario scenario;
    scenario.size = size;
    scenario.steps = 40;
    scenario.spec.algorithm = GetParam();
    scenario.spec.push_probability = 0.4;
    scenario.spec.period = 2;
    scenario.spec.deadline_seconds = 1;
    return scenario;
  }
  // Without gradients, from models that differ: only the exchange moves them.
  static SimScenario Still(SimScenario scenario) {
    scenario.model.curvature = 0;
    scenario.model.noise = false;
    return scenario;
  }
  static void Spread(SimCluster& cluster, int size) {
    for (Rank r = 0; r < size; ++r) {
      for (const size_t i : cluster.worker(r).ParameterOffsets()) {
        cluster.worker(r).arena().weights()[i] += static_cast<float>(r) - 1.5f * (i % 3);
      }
    }
  }
  static double Model(SimCluster& cluster, Rank rank, size_t i) {
    return cluster.worker(rank).arena().weights()[i];
  }
  // What the exchange keeps, before it begins: what the run must end in.
  Values Kept(SimCluster& cluster, int size) const {
    Values kept;
    const size_t floats = cluster.worker(0).arena().size();
    for (const size_t i : cluster.worker(0).ParameterOffsets()) {
      double sum = 0;
      for (Rank r = 0; r < size; ++r) sum += Model(cluster, r, i);
      if (GetParam() == "easgd") {
        // The strip's owner begins its centre with its own model.
        Rank owner = 0;
        size_t end = 0;
        for (; end <= i; ++owner) end += floats / size + (owner < static_cast<Rank>(floats % size));
        kept.push_back((sum + Model(cluster, owner - 1, i)) / (size + 1));
      } else {
        kept.push_back(sum / size);
      }
    }
    return kept;
  }
  static void ExpectAllAt(SimCluster& cluster, int size, const Values& kept, double tolerance) {
    const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
    for (Rank r = 0; r < size; ++r) {
      EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
      EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
      for (size_t k = 0; k < kept.size(); ++k) {
        ASSERT_NEAR(Model(cluster, r, offsets[k]), kept[k], tolerance) << "parameter " << k;
      }
    }
  }
};

TEST_P(SimAsync, DelaysAndDisorderTakeNothingFromTheMean) {
  for (const char* encoding : {"fp32", "bf16", "fp16", "int8"}) {
    const bool encoded = std::string(encoding) != "fp32";
    // An encoded centre keeps the sum too, but models need not meet in it: sim_encoding_test.cc.
    if (encoded && GetParam() == "easgd") continue;
    for (const int size : {2, 3, 5, 9}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        SimScenario scenario = Still(Scenario(size));
        // The centre is where all meet: late enough.
        if (GetParam() == "easgd") scenario.steps = size < 9 ? 1200 : 2400;
        scenario.spec.encoding = encoding;
        scenario.network = {
            .seed = seed, .max_delay = absl::Milliseconds(35), .rendezvous = seed % 2 == 0};
        SimCluster cluster(scenario);
        if (seed > 2) {
          cluster.network().fate = [](Rank from, Rank, const Tag&) {
            SimFate fate;
            fate.may_overtake = true;
            fate.extra_delay = absl::Milliseconds(from);
            return fate;
          };
        }
        Spread(cluster, size);
        const Values kept = Kept(cluster, size);
        ASSERT_TRUE(cluster.Run().ok());
        ExpectAllAt(cluster, size, kept, encoded ? 1e-5 : 1e-4);
        for (Rank r = 0; r < size; ++r) EXPECT_GT(cluster.stats(r).exchanges_done, 0u);
      }
    }
  }
}

TEST_P(SimAsync, NobodyWaitsForASlowWorkerAndTheEndDoes) {
  constexpr int kSize = 5;
  SimScenario scenario = Still(Scenario(kSize));
  if (GetParam() == "easgd") scenario.steps = 400;
  // Far longer than the time without a sign of life that SimCluster gives, 10 s.
  scenario.compute = [](Rank rank, uint64_t) { return absl::Milliseconds(rank == 3 ? 500 : 100); };
  if (GetParam() != "easgd") scenario.steps = 120;
  SimCluster cluster(scenario);
  Spread(cluster, kSize);
  const Values kept = Kept(cluster, kSize);
  ASSERT_TRUE(cluster.Run().ok());
  ExpectAllAt(cluster, kSize, kept, 1e-4);
  for (Rank r = 0; r < kSize; ++r) {
    EXPECT_EQ(cluster.steps_done(r), scenario.steps);
    EXPECT_EQ(cluster.stats(r).waited, absl::ZeroDuration()) << "rank " << r;
  }
}

TEST_P(SimAsync, APeriodicAverageAfterTheLastStepLeavesTheEndAsItIs) {
  for (const int size : {2, 5}) {
    SimScenario scenario = Scenario(size);
    scenario.spec.average_every = 5;
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.Run().ok());
    for (Rank r = 0; r < size; ++r) {
      EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
      EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
    }
  }
}

TEST_P(SimAsync, ALostWorkerCostsTheOthersNoStepAndTheEndNamesIt) {
  for (const bool silent : {false, true}) {
    SimScenario scenario = Scenario(5);
    scenario.steps = 200;
    SimCluster cluster(scenario);
    cluster.clock().After(absl::Milliseconds(145), [&] {
      silent ? cluster.network().Silence(2) : cluster.network().Kill(2);
    });
    ASSERT_TRUE(cluster.Run().ok());
    EXPECT_LE(cluster.clock().elapsed(), absl::Seconds(30)) << cluster.transcript();
    for (Rank r = 0; r < 5; ++r) {
      if (r == 2) continue;
      EXPECT_EQ(cluster.steps_done(r), scenario.steps);
      EXPECT_EQ(cluster.stats(r).waited, absl::ZeroDuration());
      EXPECT_GT(cluster.stats(r).exchanges_done, 15u) << "with those who are left";
      EXPECT_TRUE(absl::IsDeadlineExceeded(cluster.average_status(r)) ||
                  absl::IsUnavailable(cluster.average_status(r)))
          << cluster.average_status(r);
      EXPECT_NE(std::string(cluster.average_status(r).message()).find("worker-2"),
                std::string::npos)
          << cluster.average_status(r);
    }
    // Pushes that vanish are missed by nobody before the end.
    const bool told = cluster.transcript().find("incident") != std::string::npos;
    EXPECT_TRUE(told || (silent && GetParam() == "gosgd"));
  }
}

TEST_P(SimAsync, LostMessagesStopNobody) {
  SimScenario scenario = Scenario(4);
  scenario.steps = 300;
  scenario.network = {.seed = 3, .max_delay = absl::Milliseconds(9)};
  SimCluster cluster(scenario);
  // Of the pushes alone; the average at the end is everybody's and bears no loss.
  cluster.network().fate = [](Rank from, Rank to, const Tag& tag) {
    SimFate fate;
    const bool lost = tag.channel == Channel::kExchange && (tag.step * 7 + from + 3 * to) % 9 == 0;
    if (lost && tag.block == 2) fate.kind = SimFate::kVanishes;
    return fate;
  };
  ASSERT_TRUE(cluster.Run().ok());
  uint64_t skipped = 0;
  for (Rank r = 0; r < 4; ++r) {
    EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
    skipped += cluster.stats(r).exchanges_skipped;
    for (const float w : cluster.worker(r).Weights())
      EXPECT_LT(std::abs(w), 3) << "near all targets";
  }
  EXPECT_GT(skipped, 0u);
}

TEST_P(SimAsync, TheSameTranscriptTwice) {
  SimScenario scenario = Scenario(4);
  scenario.network = {.seed = 7, .max_delay = absl::Milliseconds(29)};
  scenario.compute = [](Rank rank, uint64_t) { return absl::Milliseconds(10 + 7 * rank); };
  SimCluster first(scenario), second(scenario);
  ASSERT_TRUE(first.Run().ok());
  ASSERT_TRUE(second.Run().ok());
  EXPECT_EQ(first.transcript(), second.transcript());
}

TEST_P(SimAsync, ADivergedModelIsLetNearNobody) {
  SimScenario scenario = Still(Scenario(4));
  scenario.average = false;
  SimCluster cluster(scenario);
  for (float& w : cluster.worker(1).arena().weights()) w = NAN;
  ASSERT_TRUE(cluster.Run().ok());
  double refused = 0;
  for (Rank r = 0; r < 4; ++r) {
    if (r == 1) continue;
    refused += cluster.worker(r).metrics().counter(CounterId::kNonFinite, "exchange");
    for (const float w : cluster.worker(r).Weights()) {
      ASSERT_TRUE(std::isfinite(w)) << "rank " << r;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_P(SimAsync, WhatIsSentIsCountedAndTheDistanceShown) {
  SimScenario scenario = Scenario(4);
  scenario.average = false;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  double sent = 0, received = 0, distances = 0;
  for (Rank r = 0; r < 4; ++r) {
    const RecordingSink& metrics = cluster.worker(r).metrics();
    const ExchangeStats& stats = cluster.stats(r);
    EXPECT_EQ(metrics.counter(CounterId::kGossipMessages, "sent"), stats.messages_sent);
    EXPECT_EQ(metrics.counter(CounterId::kGossipBytes, "sent"), stats.bytes_sent);
    EXPECT_EQ(metrics.counter(CounterId::kGossipExchanges, "ok"), stats.exchanges_done);
    sent += metrics.counter(CounterId::kGossipBytes, "sent");
    received += metrics.counter(CounterId::kGossipBytes, "received");
    distances += std::isnan(metrics.gauge(GaugeId::kGossipPartnerDistance)) ? 0 : 1;
  }
  EXPECT_GT(received, 0);
  EXPECT_LE(received, sent);
  EXPECT_GT(distances, 0);
}

TEST_P(SimAsync, APeriodicAverageThatFailsIsAnIncidentAndNoError) {
  SimScenario scenario = Scenario(3);
  scenario.spec.average_every = 4;
  scenario.average = false;
  SimCluster cluster(scenario);
  cluster.clock().After(absl::Milliseconds(95), [&] { cluster.network().Kill(2); });
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_EQ(cluster.steps_done(0), scenario.steps);
  EXPECT_GT(cluster.worker(0).metrics().counter(CounterId::kGossipSkipped, "average"), 0);
}

INSTANTIATE_TEST_SUITE_P(All, SimAsync, testing::Values("gosgd", "ad-psgd", "easgd"),
                         [](const auto& method) {
                           std::string name = method.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

double SumOfWeights(SimCluster& cluster, int size) {
  double sum = 0;
  for (Rank r = 0; r < size; ++r) {
    sum += dynamic_cast<GoSgd&>(cluster.worker(r).exchange()).weight();
  }
  return sum;
}

SimScenario GoSgdScenario(int size) {
  SimScenario scenario;
  scenario.size = size;
  scenario.steps = 60;
  scenario.spec.algorithm = "gosgd";
  scenario.spec.push_probability = 0.7;
  scenario.spec.deadline_seconds = 1;
  return scenario;
}

TEST(SimGoSgd, TheWeightsKeepTheirSumOne) {
  SimScenario scenario = GoSgdScenario(6);
  scenario.network.max_delay = absl::Milliseconds(80);
  scenario.compute = [](Rank rank, uint64_t) { return absl::Milliseconds(rank == 3 ? 50 : 10); };
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_NEAR(SumOfWeights(cluster, 6), 1, 1e-12);
}

TEST(SimGoSgd, AFailedPushTakesItsWeightBack) {
  SimScenario scenario = GoSgdScenario(3);
  scenario.average = false;
  SimCluster cluster(scenario);
  cluster.network().Kill(2);
  ASSERT_TRUE(cluster.Run().ok());
  const double live = SumOfWeights(cluster, 2);
  EXPECT_NEAR(live, 2.0 / 3, 0.35) << "one push may be under way";
  EXPECT_GT(cluster.worker(0).metrics().counter(CounterId::kGossipSkipped, "send_failed"), 0);
}

TEST(SimGoSgd, AnOldPushIsNotMixedAndItsWeightKept) {
  SimScenario scenario = GoSgdScenario(4);
  scenario.spec.staleness_bound = 2;
  scenario.network = {.min_delay = absl::Milliseconds(60), .max_delay = absl::Milliseconds(60)};
  scenario.steps = 40;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_NEAR(SumOfWeights(cluster, 4), 1, 1e-12);
  for (Rank r = 0; r < 4; ++r) {
    EXPECT_EQ(cluster.stats(r).exchanges_done, 0u);
    EXPECT_GT(cluster.stats(r).exchanges_skipped, 0u);
    EXPECT_GT(cluster.worker(r).metrics().counter(CounterId::kGossipSkipped, "stale"), 0);
  }
}

// The end tells how far the replicas are from the centre. What the workers measured on the way, of one
// strip each against one worker's, must say the same within 10 %: 200 floats a strip, measured in the
// last step, because the distance goes with the rate. Only others' strips are measured. With period 1
// these are pulled less often than a worker's own, which has no answer to wait for: of eight strips
// that is little.
TEST(SimEasgd, TheEstimateOfTheConsensusIsTheDistanceToTheCentre) {
  for (const auto& [size, period] : {std::pair(2, 4), {3, 4}, {8, 1}}) {
    SimScenario scenario;
    scenario.size = size;
    scenario.model.blocks = {int64_t{120} * size, int64_t{80} * size};
    scenario.spec.algorithm = "easgd";
    scenario.spec.asynchronous = true;
    scenario.spec.period = period;
    scenario.spec.elastic_beta = 0.1;
    SimCluster cluster(scenario);
    // One and two answers every fourth step, each tenth measured, the first at step 4: so at 204 too.
    ASSERT_TRUE(cluster.RunSteps(0, 205).ok());
    Job job;
    job.members.resize(size);
    job.spec.exchange = scenario.spec;
    std::vector<double> measured, squared(size, -1);
    std::vector<std::function<void()>> ends;
    for (Rank r = 0; r < size; ++r) {
      measured.push_back(cluster.worker(r).metrics().gauge(GaugeId::kGossipPartnerDistance));
      ends.push_back([&, r] {
        const absl::StatusOr<double> distance =
            cluster.worker(r).exchange().AverageReplicas(cluster.clock().Now() + absl::Seconds(10));
        if (distance.ok()) squared[r] = *distance * *distance;
      });
    }
    ASSERT_TRUE(cluster.clock().Run(std::move(ends)).ok());
    double sum = 0;
    for (const double value : squared) {
      ASSERT_GT(value, 0);
      sum += value;
    }
    const double exact = std::sqrt(sum / size);
    EXPECT_NEAR(ConsensusOfPartners(job, measured) / exact, 1, 0.1) << size << " " << period;
  }
}

TEST(SimAdPsgd, AnOldRequestIsTurnedDownAndALateOneGivenUp) {
  SimScenario scenario = GoSgdScenario(4);
  scenario.spec.algorithm = "ad-psgd";
  scenario.spec.staleness_bound = 2;
  scenario.network = {.min_delay = absl::Milliseconds(60), .max_delay = absl::Milliseconds(60)};
  SimCluster stale(scenario);
  ASSERT_TRUE(stale.Run().ok());
  uint64_t done = 0;
  for (Rank r = 0; r < 4; ++r) done += stale.stats(r).exchanges_done;
  EXPECT_EQ(done, 0u);
  scenario.spec.staleness_bound = 0;
  scenario.spec.deadline_seconds = 0.1;  // an answer takes more than twice as long
  scenario.average = false;
  SimCluster late(scenario);
  ASSERT_TRUE(late.Run().ok());
  EXPECT_GT(late.worker(0).metrics().counter(CounterId::kGossipSkipped, "late"), 0);
  EXPECT_FALSE(late.worker(0).incidents().empty());
  EXPECT_GT(late.stats(0).exchanges_done, 0u) << "a late answer is taken all the same";
}

}  // namespace
}  // namespace gg
