// SPDX-License-Identifier: Apache-2.0
// A worker that sends nonsense for a while, in a whole simulated cluster: the others go on training, know who it is,
// leave it alone, and take it back.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"

namespace gg {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Rank kSick = 2;
constexpr int kSize = 4;
constexpr uint64_t kFallsIll = 6, kRecovers = 40, kTrustedAgain = 400;

struct Illness {
  std::string algorithm;
  std::string encoding;
  std::string overlap;
  bool huge;  // else NaN
};

class Sick : public testing::TestWithParam<Illness> {
 protected:
  static SimScenario Scenario() {
    SimScenario scenario;
    scenario.size = kSize;
    scenario.spec.algorithm = GetParam().algorithm;
    scenario.spec.push_probability = 1;
    scenario.spec.period = 2;
    scenario.spec.payload = "weights";
    scenario.spec.overlap = GetParam().overlap;
    scenario.spec.encoding = GetParam().encoding;
    scenario.spec.bucket_bytes = 400;
    scenario.spec.deadline_seconds = 1;
    return scenario;
  }
  // From here on the worker's weights and momentum are nonsense at the end of each step, until it gets back what it
  // had.
  static void FallIll(SimCluster& cluster) {
    SimWorker& worker = cluster.worker(kSick);
    const BlockIndex last = worker.arena().block_count() - 1;
    worker.after_block = [&worker, last](BlockIndex block) {
      if (block != last) return;
      for (const size_t i : worker.ParameterOffsets()) {
        worker.arena().weights()[i] = GetParam().huge ? 1e9f : kNan;
      }
    };
  }
  static void Recover(SimCluster& cluster, const std::vector<float>& weights) {
    SimWorker& worker = cluster.worker(kSick);
    worker.after_block = nullptr;
    // What is open would still be mixed as a difference to what was sent.
    ASSERT_TRUE(cluster.clock().Run({[&] { ASSERT_TRUE(worker.exchange().Settle().ok()); }}).ok());
    std::copy(weights.begin(), weights.end(), worker.arena().weights().begin());
    std::fill(worker.arena().momentum().begin(), worker.arena().momentum().end(), 0.0f);
  }
  static double Skipped(SimCluster& cluster, absl::string_view reason) {
    double sum = 0;
    for (Rank r = 0; r < kSize; ++r) {
      if (r != kSick) sum += cluster.worker(r).metrics().counter(CounterId::kGossipSkipped, reason);
    }
    return sum;
  }
};

TEST_P(Sick, IsLeftAloneNamedAndTakenBack) {
  SimCluster cluster(Scenario());
  ASSERT_TRUE(cluster.RunSteps(0, kFallsIll).ok());
  const std::vector<float> healthy = cluster.worker(kSick).Weights();
  FallIll(cluster);
  ASSERT_TRUE(cluster.RunSteps(kFallsIll, kRecovers - kFallsIll).ok());
  const std::string reason = GetParam().huge ? "norm" : "nonfinite";
  EXPECT_GT(Skipped(cluster, reason), 0);
  // Where its requests are refused and its answers are good, there is no row of refusals.
  const bool elastic = GetParam().algorithm == "easgd";
  EXPECT_EQ(Skipped(cluster, "quarantine") > 0, !elastic);
  for (Rank r = 0; r < kSize; ++r) {
    if (r == kSick) continue;
    SimWorker& worker = cluster.worker(r);
    EXPECT_EQ(cluster.steps_done(r), kRecovers);
    for (const float w : worker.Weights()) {
      ASSERT_TRUE(std::isfinite(w));
      ASSERT_LT(std::abs(w), 10) << "nothing of it was mixed";
    }
    int quarantines = 0;
    for (const PartnerIncident& incident : worker.incidents()) {
      EXPECT_EQ(incident.worker_id, "worker-2");
      quarantines += incident.reason == "quarantine";
    }
    const bool meets = GetParam().algorithm != "d-psgd" || std::abs(r - kSick) == 1;
    EXPECT_EQ(quarantines > 0, meets && !elastic) << "rank " << r;
  }

  Recover(cluster, healthy);
  // The longest quarantine by now is over, and the probation after it.
  ASSERT_TRUE(cluster.RunSteps(kRecovers, kTrustedAgain - kRecovers).ok());
  const double refused = Skipped(cluster, reason), dropped = Skipped(cluster, "quarantine");
  const uint64_t skipped = cluster.stats(0).exchanges_skipped;
  ASSERT_TRUE(cluster.RunSteps(kTrustedAgain, 30).ok());
  EXPECT_EQ(Skipped(cluster, reason), refused);
  EXPECT_EQ(Skipped(cluster, "quarantine"), dropped);
  EXPECT_EQ(cluster.stats(0).exchanges_skipped, skipped);
  for (Rank r = 0; r < kSize; ++r) {
    EXPECT_EQ(cluster.worker(r).metrics().gauge(GaugeId::kGossipQuarantined), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Sick,
    testing::Values(
        Illness{"gossip-grad", "fp32", "none", false},
        Illness{"gossip-grad", "fp32", "layerwise", false},
        Illness{"gossip-grad", "fp32", "step", false},
        Illness{"gossip-grad", "int8", "layerwise", false},
        Illness{"gossip-grad", "bf16", "step", false}, Illness{"gossip-grad", "fp32", "none", true},
        Illness{"gossip-grad", "fp32", "layerwise", true},
        Illness{"gossip-grad", "fp32", "step", true}, Illness{"gossip-grad", "int8", "none", true},
        Illness{"d-psgd", "fp32", "layerwise", false}, Illness{"d-psgd", "int8", "layerwise", true},
        Illness{"sgp", "fp32", "none", false}, Illness{"sgp", "bf16", "none", true},
        Illness{"sgp", "fp32", "step", true}, Illness{"gosgd", "fp32", "layerwise", false},
        Illness{"gosgd", "fp32", "layerwise", true}, Illness{"gosgd", "int8", "layerwise", false},
        Illness{"ad-psgd", "fp32", "layerwise", false},
        Illness{"ad-psgd", "fp32", "layerwise", true},
        Illness{"ad-psgd", "bf16", "layerwise", true}, Illness{"easgd", "fp32", "layerwise", false},
        Illness{"easgd", "int8", "layerwise", true}),
    [](const auto& illness) {
      std::string name = absl::StrCat(illness.param.algorithm, "_", illness.param.encoding, "_",
                                      illness.param.overlap, illness.param.huge ? "_huge" : "_nan");
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

TEST(MessageAge, IsObservedAtEachMixUnderDelaysToo) {
  for (const char* overlap : {"none", "layerwise", "step"}) {
    SimScenario scenario;
    scenario.size = 5;
    scenario.steps = 20;
    scenario.spec.overlap = overlap;
    scenario.spec.deadline_seconds = 0.05;
    scenario.network = {.max_delay = absl::Milliseconds(60)};
    scenario.average = false;
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.Run().ok());
    for (Rank r = 0; r < 5; ++r) {
      const std::vector<double> ages =
          cluster.worker(r).metrics().observed(HistogramId::kMessageAge);
      EXPECT_EQ(ages.size(), cluster.stats(r).exchanges_done);
      EXPECT_FALSE(ages.empty());
      for (const double age : ages) EXPECT_EQ(age, std::string(overlap) == "step" ? 1 : 0);
    }
  }
}

class Diverged : public testing::TestWithParam<const char*> {};

TEST_P(Diverged, EndsTheRunOfAllAndSaysWhoItWas) {
  for (const char* encoding : {"fp32", "int8"}) {
    SimScenario scenario;
    scenario.size = 4;
    scenario.spec.algorithm = GetParam();
    scenario.spec.encoding = encoding;
    scenario.spec.collective_seconds = 2;
    scenario.spec.period = 3;
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.RunSteps(0, 4).ok());
    cluster.worker(1).arena().weights()[3] = kNan;
    ASSERT_TRUE(cluster.RunSteps(4, 8).ok());
    int finite = 0;
    std::string culprit;
    const std::string transcript = cluster.transcript();
    for (Rank r = 0; r < 4; ++r) EXPECT_LT(cluster.steps_done(r), 12u) << transcript;
    for (size_t at = 0; (at = transcript.find("error: DATA_LOSS", at)) != std::string::npos; ++at) {
      const std::string line = transcript.substr(at, transcript.find('\n', at) - at);
      EXPECT_NE(line.find("is not finite"), std::string::npos) << line;
      if (line.find("another worker has diverged") != std::string::npos) ++finite;
      if (line.find("because those of rank 1 are not") != std::string::npos) culprit = line;
    }
    EXPECT_EQ(finite, 3) << transcript;
    EXPECT_FALSE(culprit.empty()) << transcript;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Diverged,
                         testing::Values("allreduce", "allreduce-layerwise", "periodic-average",
                                         "local-sgd", "cocod"),
                         [](const auto& method) {
                           std::string name = method.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace gg
