// SPDX-License-Identifier: Apache-2.0
// Whole clusters in virtual time, with and without faults. Each scenario's transcript is kept in
// testdata and compared byte for byte; after a wanted change of behaviour run the test with
// GG_REGENERATE=1 and read the difference.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"

namespace gg {
namespace {

void ExpectTranscript(const std::string& name, const std::string& transcript) {
  const std::string path = absl::StrCat(GG_SIM_TESTDATA, "/", name, ".txt");
  if (std::getenv("GG_REGENERATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << transcript;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing: run with GG_REGENERATE=1 and look at what comes out";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(transcript, expected.str()) << "against " << path;
}

SimScenario Scenario(int size, absl::string_view payload = "weights-momentum",
                     absl::string_view overlap = "layerwise") {
  SimScenario scenario;
  scenario.size = size;
  scenario.spec.payload = std::string(payload);
  scenario.spec.overlap = std::string(overlap);
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1.0;
  scenario.network.max_delay = absl::Milliseconds(4);
  return scenario;
}

class FaultFree : public testing::TestWithParam<int> {};

TEST_P(FaultFree, EverythingIsMixedAndTheReplicasEndEqual) {
  SimScenario scenario = Scenario(GetParam());
  scenario.steps = 6;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < scenario.size; ++r) {
    EXPECT_EQ(cluster.steps_done(r), scenario.steps);
    EXPECT_EQ(cluster.stats(r).exchanges_done, 3 * scenario.steps);
    EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
    EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    EXPECT_TRUE(cluster.worker(r).incidents().empty());
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
  }
  ExpectTranscript(absl::StrCat("fault_free_p", GetParam()), cluster.transcript());
}

INSTANTIATE_TEST_SUITE_P(Sizes, FaultFree, testing::Range(2, 10));

struct Rule {
  const char* payload;
  const char* overlap;
};
class EveryRule : public testing::TestWithParam<Rule> {
 protected:
  SimScenario Make(int size) const {
    return Scenario(size, GetParam().payload, GetParam().overlap);
  }
};

TEST_P(EveryRule, TheSameSeedGivesTheSameTranscript) {
  SimScenario scenario = Make(5);
  scenario.network.drop_share = 0.1;
  SimCluster first(scenario), second(scenario);
  ASSERT_TRUE(first.Run().ok());
  ASSERT_TRUE(second.Run().ok());
  EXPECT_EQ(first.transcript(), second.transcript());
  scenario.network.seed = 2;
  SimCluster other(scenario);
  ASSERT_TRUE(other.Run().ok());
  EXPECT_NE(first.transcript(), other.transcript());
}

TEST_P(EveryRule, NobodyHangsWhateverIsLost) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SimScenario scenario = Make(2 + static_cast<int>(seed) % 8);
    scenario.steps = 20;
    scenario.network.seed = seed;
    scenario.network.drop_share = seed % 3 == 0 ? 0.5 : 0.1;
    scenario.network.max_delay = absl::Milliseconds(seed % 2 == 0 ? 50 : 1500);
    scenario.network.rendezvous = seed % 4 == 1;
    scenario.compute = [seed](Rank r, uint64_t) {
      return absl::Milliseconds(10 * (1 + (r + seed) % 3));
    };
    // At most a deadline for the partner and one for the send buffer per step, and the final
    // average.
    scenario.limit =
        2 * scenario.steps * absl::Seconds(scenario.spec.deadline_seconds) + absl::Seconds(15);
    SimCluster cluster(scenario);
    const absl::Status status = cluster.Run();
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status;
    for (Rank r = 0; r < scenario.size; ++r) {
      EXPECT_EQ(cluster.steps_done(r), scenario.steps);
      for (const float w : cluster.worker(r).Weights()) ASSERT_TRUE(std::isfinite(w));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule,
                         testing::Values(Rule{"gradients", "none"}, Rule{"gradients", "layerwise"},
                                         Rule{"gradients", "step"}, Rule{"weights", "none"},
                                         Rule{"weights", "layerwise"}, Rule{"weights", "step"},
                                         Rule{"weights-momentum", "none"},
                                         Rule{"weights-momentum", "layerwise"},
                                         Rule{"weights-momentum", "step"}));

struct Method {
  const char* name;
  const char* algorithm;
  const char* overlap = "layerwise";
  bool asynchronous = true;
  bool nesterov = false;
};

void PrintTo(const Method& method, std::ostream* out) {
  *out << method.name;
}

class EveryMethod : public testing::TestWithParam<Method> {};

TEST_P(EveryMethod, KeepsItsTranscriptAndAnotherSeedGivesAnother) {
  const Method& method = GetParam();
  SimScenario scenario = Scenario(5, "weights", method.overlap);
  scenario.steps = 6;
  scenario.spec.algorithm = method.algorithm;
  scenario.spec.asynchronous = method.asynchronous;
  scenario.spec.period = 2;
  scenario.spec.push_probability = 0.5;
  scenario.model.nesterov = method.nesterov;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < scenario.size; ++r) {
    EXPECT_EQ(cluster.steps_done(r), scenario.steps);
    EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
    EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
  }
  ExpectTranscript(absl::StrCat(method.name, "_p5"), cluster.transcript());
  scenario.network.seed = 2;
  SimCluster other(scenario);
  ASSERT_TRUE(other.Run().ok());
  EXPECT_NE(cluster.transcript(), other.transcript());
}

INSTANTIATE_TEST_SUITE_P(
    Methods, EveryMethod,
    testing::Values(
        Method{"allreduce", "allreduce"}, Method{"allreduce_layerwise", "allreduce-layerwise"},
        Method{"reduce_scatter", "reduce-scatter"}, Method{"periodic_average", "periodic-average"},
        Method{"local_sgd", "local-sgd"}, Method{"cocod", "cocod"}, Method{"d_psgd", "d-psgd"},
        Method{"sgp", "sgp"}, Method{"sgp_overlapped", "sgp", "step"}, Method{"ad_psgd", "ad-psgd"},
        Method{"gosgd", "gosgd"}, Method{"easgd", "easgd"},
        Method{"easgd_synchronous", "easgd", "layerwise", /*asynchronous=*/false},
        Method{"eamsgd", "easgd", "layerwise", true, /*nesterov=*/true}, Method{"none", "none"}),
    [](const auto& method) { return std::string(method.param.name); });

TEST(Sim, StepOverlapTranscript) {
  SimCluster cluster(Scenario(5, "weights-momentum", "step"));
  ASSERT_TRUE(cluster.Run().ok());
  ExpectTranscript("step_overlap_p5", cluster.transcript());
}

TEST(Sim, GradientsTranscript) {
  SimScenario scenario = Scenario(4, "gradients", "layerwise");
  scenario.spec.average_every = 3;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  ExpectTranscript("gradients_average_p4", cluster.transcript());
}

TEST(Sim, ASlowWorkerDelaysOnlyWhoMeetsIt) {
  SimScenario scenario = Scenario(6);
  scenario.steps = 12;
  scenario.compute = [](Rank r, uint64_t) { return absl::Milliseconds(r == 2 ? 50 : 10); };
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < 6; ++r) {
    EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
    EXPECT_TRUE(cluster.worker(r).incidents().empty());
  }
  // The slow one never waits for anybody but for the wire.
  EXPECT_LT(cluster.stats(2).waited, absl::Milliseconds(12 * 4));
  EXPECT_LT(cluster.clock().elapsed(), absl::Milliseconds(12 * 60 + 200));
  ExpectTranscript("slow_worker_p6", cluster.transcript());
}

TEST(Sim, AKilledWorkerIsNamedAndTheOthersGoOn) {
  SimScenario scenario = Scenario(4);
  scenario.steps = 12;
  SimCluster cluster(scenario);
  cluster.clock().After(absl::Milliseconds(45), [&] { cluster.network().Kill(1); });
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_LT(cluster.steps_done(1), 12u);
  for (const Rank r : {0, 2, 3}) {
    EXPECT_EQ(cluster.steps_done(r), 12u);
    // The transport says who is gone: no deadline is waited for.
    EXPECT_LT(cluster.stats(r).waited, absl::Seconds(0.2));
    EXPECT_FALSE(cluster.average_status(r).ok());
    for (const PartnerIncident& incident : cluster.worker(r).incidents()) {
      EXPECT_EQ(incident.partner, 1);
      EXPECT_EQ(incident.worker_id, "worker-1");
      EXPECT_EQ(incident.reason, "lost");
    }
    EXPECT_FALSE(cluster.worker(r).incidents().empty());
    EXPECT_NE(cluster.average_status(r).message().find("worker-1"), absl::string_view::npos)
        << cluster.average_status(r);
  }
  ExpectTranscript("killed_p4", cluster.transcript());
}

TEST(Sim, AWorkerThatFallsSilentCostsAFractionOfItsDeadlines) {
  SimScenario scenario = Scenario(2);
  scenario.steps = 200;
  scenario.average = false;
  SimCluster cluster(scenario);
  cluster.clock().After(absl::Milliseconds(45), [&] { cluster.network().Silence(1); });
  ASSERT_TRUE(cluster.Run().ok());
  // Two misses, then pauses of 2, 4, 8 and 16 deadlines: 200 steps of 10 ms end inside the first.
  EXPECT_LT(cluster.stats(0).waited, absl::Seconds(2.1));
  EXPECT_EQ(cluster.worker(0).incidents().size(), 2u);
  EXPECT_GT(cluster.stats(0).exchanges_skipped, 500u);
}

TEST(Sim, DroppedMessagesAreCountedExactly) {
  SimScenario scenario = Scenario(5);
  scenario.steps = 12;
  scenario.average = false;
  SimCluster cluster(scenario);
  // One unit of the messages of rank 3 in step 4, and all of those of rank 0 in step 7.
  cluster.network().fate = [](Rank from, Rank, const Tag& tag) {
    const bool lost =
        (from == 3 && tag.step == 4 && tag.block == 1) || (from == 0 && tag.step == 7);
    return SimFate{lost ? SimFate::kVanishes : SimFate::kArrives, absl::ZeroDuration()};
  };
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_EQ(cluster.network().vanished(), 4u);
  const auto schedule = *MakeSchedule("dissemination", {.size = 5, .seed = scenario.model.seed});
  std::vector<uint64_t> expected(5);
  expected[schedule->At(3, 4).send_to] += 1;
  expected[schedule->At(0, 7).send_to] += 3;
  for (Rank r = 0; r < 5; ++r) {
    EXPECT_EQ(cluster.stats(r).exchanges_skipped, expected[r]) << r;
    EXPECT_EQ(cluster.stats(r).exchanges_done + expected[r], 36u);
    EXPECT_EQ(cluster.worker(r).metrics().counter(CounterId::kGossipSkipped, "late"), expected[r]);
    // Three units of one step are one incident.
    EXPECT_LE(cluster.worker(r).incidents().size(), 2u);
  }
  ExpectTranscript("dropped_p5", cluster.transcript());
}

TEST(Sim, APartitionHealsAndTheReplicasMeetAgain) {
  SimScenario scenario = Scenario(6);
  scenario.steps = 60;
  scenario.model.noise = false;
  SimCluster cluster(scenario);
  cluster.clock().After(absl::Milliseconds(60), [&] { cluster.network().Partition({0, 1, 2}); });
  cluster.clock().After(absl::Milliseconds(5060), [&] { cluster.network().Heal(); });
  ASSERT_TRUE(cluster.Run().ok());
  uint64_t skipped = 0;
  for (Rank r = 0; r < 6; ++r) {
    EXPECT_EQ(cluster.steps_done(r), 60u);
    EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    skipped += cluster.stats(r).exchanges_skipped;
  }
  EXPECT_GT(skipped, 0u);
  EXPECT_LT(cluster.clock().elapsed(), absl::Seconds(30));
  ExpectTranscript("partition_p6", cluster.transcript());
}

}  // namespace
}  // namespace gg
