// SPDX-License-Identifier: Apache-2.0
// One exchange gone wrong at a time, in virtual time: what the step does instead, what is counted,
// who is named.
#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"

namespace gg {
namespace {

SimScenario Two(absl::string_view payload = "weights-momentum",
                absl::string_view overlap = "layerwise") {
  SimScenario scenario;
  scenario.size = 2;
  scenario.steps = 6;
  scenario.average = false;
  scenario.spec.payload = std::string(payload);
  scenario.spec.overlap = std::string(overlap);
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1;
  return scenario;
}

constexpr int kUnits = 3;  // of weights-momentum in Two()

// The fate of all exchange messages from rank 1 in one step.
auto StepFrom1(uint64_t step, SimFate fate) {
  return [=](Rank from, Rank, const Tag& tag) {
    return from == 1 && tag.step == step && tag.channel == Channel::kExchange ? fate : SimFate();
  };
}

const PartnerIncident& OnlyIncident(SimCluster& cluster, Rank rank) {
  EXPECT_EQ(cluster.worker(rank).incidents().size(), 1u);
  static const PartnerIncident none{};
  return cluster.worker(rank).incidents().empty() ? none : cluster.worker(rank).incidents()[0];
}

TEST(Faults, ALatePartnerCostsOneDeadlineAndIsNamedOnce) {
  SimCluster cluster(Two());
  cluster.network().fate = StepFrom1(2, {SimFate::kArrives, absl::Seconds(5)});
  // Messages to one peer stay in order, so those of later steps are late as well; look at the
  // first.
  ASSERT_TRUE(cluster.RunSteps(0, 4).ok());
  const PartnerIncident& incident = OnlyIncident(cluster, 0);
  EXPECT_EQ(incident.step, 2u);
  EXPECT_EQ(incident.partner, 1);
  EXPECT_EQ(incident.worker_id, "worker-1");
  EXPECT_EQ(incident.reason, "late");
  EXPECT_EQ(incident.detail,
            "step 2 went on without unit 2 of rank 1 (worker-1): nothing had arrived within 1s");
  EXPECT_EQ(cluster.stats(0).exchanges_skipped, uint64_t{kUnits});
  EXPECT_EQ(cluster.stats(0).waited, absl::Seconds(1));
  EXPECT_EQ(cluster.worker(0).metrics().counter(CounterId::kGossipSkipped, "late"), kUnits);
  EXPECT_EQ(cluster.worker(0).metrics().counter(CounterId::kGossipExchanges, "late"), kUnits);
}

TEST(Faults, ACorruptMessageIsNotMixed) {
  SimCluster cluster(Two());
  cluster.network().fate = StepFrom1(2, {SimFate::kIsCorrupt, absl::ZeroDuration()});
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_EQ(OnlyIncident(cluster, 0).reason, "corrupt");
  EXPECT_EQ(cluster.stats(0).exchanges_skipped, uint64_t{kUnits});
  EXPECT_EQ(cluster.stats(0).waited, cluster.stats(1).waited) << "nothing is waited for in vain";
  EXPECT_TRUE(cluster.worker(1).incidents().empty());
}

TEST(Faults, ALinkThatCorruptsEverythingCostsNoWaitingAndEndsWhenItIsRepaired) {
  SimScenario scenario = Two();
  scenario.steps = 30;
  SimCluster cluster(scenario);
  cluster.network().fate = [](Rank from, Rank, const Tag& tag) {
    return SimFate{from == 1 && tag.step < 20 ? SimFate::kIsCorrupt : SimFate::kArrives,
                   absl::ZeroDuration()};
  };
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_EQ(cluster.stats(0).exchanges_skipped, 20u * kUnits);
  EXPECT_EQ(cluster.stats(0).exchanges_done, 10u * kUnits);
  EXPECT_EQ(cluster.worker(0).incidents().size(), 20u);
  EXPECT_LT(cluster.stats(0).waited, absl::Milliseconds(20));
}

TEST(Faults, ALostPartnerIsSkippedAtOnce) {
  SimCluster cluster(Two());
  cluster.clock().After(absl::Milliseconds(25), [&] { cluster.network().Kill(1); });
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_EQ(OnlyIncident(cluster, 0).reason, "lost");
  EXPECT_EQ(cluster.steps_done(0), 6u);
  EXPECT_LT(cluster.stats(0).waited, absl::Milliseconds(10));
}

TEST(Faults, WhatIsSkippedLeavesTheOwnModelAsItIs) {
  // Rank 1 is never heard of: rank 0 must train as if it were alone.
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      SimCluster cluster(Two(payload, overlap));
      cluster.network().fate = [](Rank from, Rank, const Tag&) {
        return SimFate{from == 1 ? SimFate::kVanishes : SimFate::kArrives, absl::ZeroDuration()};
      };
      ASSERT_TRUE(cluster.Run().ok());
      SimWorker alone(SimModel(), ExchangeSpec(), 1, 0, RealClock(), nullptr);
      for (uint64_t step = 0; step < 6; ++step) ASSERT_TRUE(alone.Step(step).ok());
      EXPECT_EQ(cluster.worker(0).Weights(), alone.Weights()) << payload << " " << overlap;
      EXPECT_EQ(cluster.worker(0).Momentum(), alone.Momentum()) << payload << " " << overlap;
      EXPECT_EQ(cluster.stats(0).exchanges_done, 0u);
    }
  }
}

TEST(Faults, NonFiniteValuesAreRefusedAndCounted) {
  for (const char* overlap : {"none", "layerwise", "step"}) {
    SimCluster cluster(Two("weights-momentum", overlap));
    ASSERT_TRUE(cluster.RunSteps(0, 2).ok());
    cluster.worker(1).arena().weights()[2] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_TRUE(cluster.RunSteps(2, 3).ok());
    for (const float w : cluster.worker(0).Weights()) ASSERT_TRUE(std::isfinite(w));
    for (const float v : cluster.worker(0).Momentum()) ASSERT_TRUE(std::isfinite(v));
    EXPECT_GE(cluster.worker(0).metrics().counter(CounterId::kNonFinite, "exchange"), 2);
    ASSERT_FALSE(cluster.worker(0).incidents().empty());
    EXPECT_EQ(cluster.worker(0).incidents()[0].reason, "nonfinite");
    EXPECT_EQ(cluster.worker(0).incidents()[0].partner, 1);
    // Only the unit that is spoilt is refused.
    EXPECT_GT(cluster.stats(0).exchanges_done, cluster.stats(0).exchanges_skipped);
  }
}

TEST(Faults, AStaleMessageIsDroppedAndDisturbsNoLaterStep) {
  SimScenario scenario = Two();
  scenario.steps = 40;
  SimCluster cluster(scenario);
  cluster.network().fate = [](Rank from, Rank, const Tag& tag) {
    const bool late = from == 1 && tag.step == 2;
    return SimFate{SimFate::kArrives, late ? absl::Seconds(1.2) : absl::ZeroDuration()};
  };
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_GT(cluster.network().stale(), 0u);
  EXPECT_EQ(cluster.steps_done(0), 40u);
  EXPECT_LT(cluster.clock().elapsed(), absl::Seconds(5));
  // In step again at the end: as many mixed as before.
  const uint64_t done = cluster.stats(0).exchanges_done;
  ASSERT_TRUE(cluster.RunSteps(40, 10).ok());
  EXPECT_EQ(cluster.stats(0).exchanges_done, done + 9 * kUnits);
}

TEST(Faults, APartnerThatComesBackIsInAgain) {
  SimScenario scenario = Two();
  scenario.steps = 1000;
  SimCluster cluster(scenario);
  bool away = false;
  cluster.network().fate = [&](Rank, Rank, const Tag&) {
    return SimFate{away ? SimFate::kVanishes : SimFate::kArrives, absl::ZeroDuration()};
  };
  cluster.clock().After(absl::Milliseconds(45), [&] { away = true; });
  cluster.clock().After(absl::Milliseconds(2500), [&] { away = false; });
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < 2; ++r) {
    EXPECT_GT(cluster.stats(r).exchanges_skipped, 0u);
    // A deadline and a half of waiting, then a second of steps of 10 ms without waiting; then all is
    // well at once.
    EXPECT_GT(cluster.stats(r).exchanges_done, uint64_t{890 * kUnits});
    EXPECT_LT(cluster.stats(r).waited, absl::Seconds(2));
  }
}

TEST(Faults, AMessageThatIsNotTakenHoldsItsBufferAndNobodyWaitsForever) {
  for (const char* overlap : {"none", "layerwise", "step"}) {
    SimScenario scenario = Two("weights-momentum", overlap);
    scenario.network.rendezvous = true;
    scenario.steps = 20;
    // Rank 1 stands still for a minute in step 3.
    scenario.compute = [](Rank r, uint64_t step) {
      return r == 1 && step == 3 ? absl::Minutes(1) : absl::Milliseconds(10);
    };
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.Run().ok());
    for (Rank r = 0; r < 2; ++r) {
      EXPECT_EQ(cluster.steps_done(r), 20u);
      // Every unit of every step either was mixed or is counted as one that was not.
      EXPECT_EQ(cluster.stats(r).exchanges_done + cluster.stats(r).exchanges_skipped, 20u * kUnits)
          << overlap << " rank " << r;
    }
    EXPECT_GT(cluster.worker(0).metrics().counter(CounterId::kGossipSkipped, "send_pending"), 0);
    EXPECT_LT(cluster.stats(0).waited, absl::Seconds(5));
  }
}

TEST(Faults, AStepWaitsOneDeadlineForAllItsUnitsTogether) {
  for (const char* overlap : {"none", "layerwise", "step"}) {
    SimScenario scenario = Two("weights", overlap);
    scenario.spec.bucket_bytes = 1;  // four units
    SimCluster cluster(scenario);
    cluster.network().fate = StepFrom1(1, {SimFate::kVanishes, absl::ZeroDuration()});
    ASSERT_TRUE(cluster.Run().ok());
    EXPECT_EQ(cluster.stats(0).exchanges_skipped, 4u) << overlap;
    EXPECT_GE(cluster.stats(0).waited, absl::Seconds(1)) << overlap;
    EXPECT_LT(cluster.stats(0).waited, absl::Seconds(1.1)) << overlap;
    EXPECT_EQ(cluster.worker(0).incidents().size(), 1u) << overlap;
  }
}

TEST(Faults, StepsThatWereLeftOutAreNotMistakenForOthers) {
  // As after a restart at a later step, in the middle of an exchange: what was expected of step 3
  // must not be mixed at 9.
  for (const char* overlap : {"none", "layerwise", "step"}) {
    SimCluster cluster(Two("weights-momentum", overlap));
    ASSERT_TRUE(cluster.RunSteps(0, 3).ok());
    std::vector<std::function<void()>> bodies;
    for (Rank r = 0; r < 2; ++r) {
      bodies.push_back([&cluster, r] {
        EXPECT_TRUE(cluster.worker(r).exchange().Settle().ok());
        EXPECT_TRUE(cluster.worker(r).exchange().BeginStep(3).ok());
        EXPECT_TRUE(cluster.worker(r).exchange().Settle().ok());
      });
    }
    ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
    const uint64_t done = cluster.stats(0).exchanges_done;
    ASSERT_TRUE(cluster.RunSteps(9, 4).ok());
    EXPECT_GE(cluster.stats(0).exchanges_done - done, uint64_t{3 * kUnits}) << overlap;
    EXPECT_TRUE(cluster.worker(0).incidents().empty()) << overlap;
  }
}

TEST(Stats, ThePartnersDistanceIsMeasured) {
  SimScenario scenario = Two("weights", "none");
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.RunSteps(0, 1).ok());
  // With equal models at the start, rank 0 and 1 are one update apart.
  double squared = 0;
  const SimModel& model = scenario.model;
  for (const size_t i : cluster.worker(0).ParameterOffsets()) {
    const double w = model.Initial(i);
    const auto update = [&](Rank r) {
      return model.Rate(0) * (model.curvature * (w - model.Target(r, i)) + model.Noise(r, 0, i));
    };
    squared += (update(0) - update(1)) * (update(0) - update(1));
  }
  EXPECT_NEAR(cluster.stats(0).partner_distance, std::sqrt(squared), 1e-5);
}

}  // namespace
}  // namespace gg
