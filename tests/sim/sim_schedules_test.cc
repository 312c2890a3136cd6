// SPDX-License-Identifier: Apache-2.0
// Every schedule in a whole simulated cluster of 1 .. 9 workers, and the groups of hierarchical, against
// the oracle that computes all replicas in one place.
#include <bit>
#include <cmath>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "tests/support/sim_oracle.h"

namespace gg {
namespace {

// Stages in which workers rest, only send or only receive are among them.
std::string WriteGraph(int size) {
  const std::string path = absl::StrCat(testing::TempDir(), "/sim_schedules_p", size, ".txt");
  std::ofstream out(path);
  out << "workers " << size << "\n";
  for (int v = 0; v + 1 < size; ++v) out << v << ">" << v + 1 << "\n";
  if (size > 1) out << "0-" << size - 1 << "\n";
  return path;
}

SimScenario Scenario(int size, absl::string_view schedule, absl::string_view payload,
                     absl::string_view overlap) {
  SimScenario scenario;
  scenario.size = size;
  scenario.steps = 11;
  scenario.average = false;
  scenario.spec.schedule = std::string(schedule);
  scenario.spec.payload = std::string(payload);
  scenario.spec.overlap = std::string(overlap);
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1;
  scenario.spec.collective_seconds = 5;
  scenario.network.max_delay = absl::Milliseconds(4);
  return scenario;
}

// group g of `groups` has every groups-th rank: neighbours are never in one group.
std::vector<std::string> Hosts(int groups, int each) {
  std::vector<std::string> hosts;
  for (int r = 0; r < groups * each; ++r) hosts.push_back(absl::StrCat("host-", r % groups));
  return hosts;
}

void ExpectOracle(SimCluster& cluster, const SimScenario& scenario, SimOracle& oracle) {
  for (uint64_t step = 0; step < scenario.steps; ++step) oracle.Step(step);
  const auto expected = oracle.Settled();
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (Rank r = 0; r < scenario.size; ++r) {
    ASSERT_EQ(cluster.steps_done(r), scenario.steps) << cluster.transcript();
    const std::vector<float> actual = cluster.worker(r).Weights();
    for (size_t k = 0; k < offsets.size(); ++k) {
      ASSERT_NEAR(actual[offsets[k]], expected[r][k], 3e-6) << "rank " << r << " parameter " << k;
    }
  }
}

SimOracle OracleOf(SimCluster& cluster, const SimScenario& scenario) {
  return SimOracle(scenario.model, scenario.spec, scenario.size,
                   cluster.worker(0).ParameterOffsets(), false, scenario.network.hosts);
}

struct Rule {
  const char* payload;
  const char* overlap;
};
constexpr Rule kRules[] = {
    {"gradients", "none"},        {"gradients", "layerwise"},        {"gradients", "step"},
    {"weights", "none"},          {"weights", "layerwise"},          {"weights", "step"},
    {"weights-momentum", "none"}, {"weights-momentum", "layerwise"}, {"weights-momentum", "step"}};

class EverySchedule : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  const std::string& schedule() const { return std::get<0>(GetParam()); }
  int size() const { return std::get<1>(GetParam()); }
};

TEST_P(EverySchedule, FollowsTheDenseOracleAndMissesNothing) {
  for (const Rule& rule : kRules) {
    SCOPED_TRACE(absl::StrCat(rule.payload, " ", rule.overlap));
    SimScenario scenario = Scenario(size(), schedule(), rule.payload, rule.overlap);
    if (schedule() == "graph") scenario.spec.graph_file = WriteGraph(size());
    if (schedule() == "hierarchical" && size() % 3 == 0) {
      scenario.network.hosts = Hosts(size() / 3, 3);
    }
    SimCluster cluster(scenario);
    SimOracle oracle = OracleOf(cluster, scenario);
    ASSERT_TRUE(cluster.Run().ok());
    ExpectOracle(cluster, scenario, oracle);
    for (Rank r = 0; r < size(); ++r) {
      EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u) << cluster.transcript();
      EXPECT_TRUE(cluster.worker(r).incidents().empty());
    }
  }
}

std::vector<std::tuple<std::string, int>> SchedulesAndSizes() {
  std::vector<std::tuple<std::string, int>> cases;
  for (const absl::string_view name : ScheduleNames()) {
    for (int size = 1; size < 10; ++size) {
      const bool served = name != "hypercube" || std::has_single_bit(static_cast<unsigned>(size));
      if (served) cases.emplace_back(name, size);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EverySchedule, testing::ValuesIn(SchedulesAndSizes()),
                         [](const auto& param) {
                           return absl::StrCat(std::get<0>(param.param), "_p",
                                               std::get<1>(param.param));
                         });

// A worker that rests sends nothing and waits for nobody, so that the step costs it no time.
TEST(Resting, CostsNoMessageAndNoWait) {
  SimScenario scenario = Scenario(3, "random", "weights-momentum", "none");
  scenario.steps = 30;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  const auto schedule = *MakeSchedule("random", {.size = 3, .seed = scenario.model.seed});
  for (Rank r = 0; r < 3; ++r) {
    uint64_t met = 0;
    for (uint64_t step = 0; step < 30; ++step) met += schedule->At(r, step).send_to >= 0 ? 1 : 0;
    EXPECT_LT(met, 30u);
    EXPECT_EQ(cluster.stats(r).messages_sent, 3 * met);
    EXPECT_EQ(cluster.stats(r).exchanges_done, 3 * met);
  }
}

struct Layout {
  int groups, each;
};
class Groups : public testing::TestWithParam<Layout> {
 protected:
  int size() const { return GetParam().groups * GetParam().each; }
  SimScenario Make(const Rule& rule) const {
    SimScenario scenario = Scenario(size(), "hierarchical", rule.payload, rule.overlap);
    scenario.network.hosts = Hosts(GetParam().groups, GetParam().each);
    return scenario;
  }
  void ExpectEqualGroups(SimCluster& cluster) const {
    for (Rank r = GetParam().groups; r < size(); ++r) {
      EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(r % GetParam().groups).Weights());
      EXPECT_EQ(cluster.worker(r).Momentum(), cluster.worker(r % GetParam().groups).Momentum());
    }
  }
};

TEST_P(Groups, FollowTheDenseOracleAndStayEqualBitForBit) {
  for (const Rule& rule : kRules) {
    for (const char* collective : {"auto", "ring", "recursive-doubling"}) {
      SCOPED_TRACE(absl::StrCat(rule.payload, " ", rule.overlap, " ", collective));
      SimScenario scenario = Make(rule);
      scenario.spec.collective = collective;
      scenario.network.rendezvous = true;
      SimCluster cluster(scenario);
      SimOracle oracle = OracleOf(cluster, scenario);
      ASSERT_TRUE(cluster.Run().ok());
      ExpectOracle(cluster, scenario, oracle);
      ExpectEqualGroups(cluster);
    }
  }
}

TEST_P(Groups, TheClosingAndThePeriodicAverageAreOverAllWorkers) {
  SimScenario scenario = Make({"weights", "layerwise"});
  scenario.average = true;
  scenario.spec.average_every = 11;
  SimCluster cluster(scenario);
  SimOracle oracle = OracleOf(cluster, scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (uint64_t step = 0; step < scenario.steps; ++step) oracle.Step(step);
  const std::vector<double> mean = oracle.Mean();
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (Rank r = 0; r < size(); ++r) {
    ASSERT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    for (size_t k = 0; k < offsets.size(); ++k) {
      ASSERT_NEAR(cluster.worker(r).Weights()[offsets[k]], mean[k], 3e-6);
    }
  }
}

// Spoils everything that rank 1's partner sends it in one step: the other members of its group have
// met theirs, and the group is made equal again in the next step, before anything of it is sent.
TEST_P(Groups, AMissedPartnerIsHealed) {
  if (GetParam().groups == 1) return;
  for (const Rule& rule :
       {Rule{"gradients", "none"}, Rule{"weights", "none"}, Rule{"weights-momentum", "none"}}) {
    SCOPED_TRACE(rule.payload);
    const SimScenario scenario = Make(rule);
    constexpr uint64_t kStep = 4;
    SimCluster cluster(scenario);
    SimOracle oracle = OracleOf(cluster, scenario);
    cluster.network().fate = [](Rank, Rank to, const Tag& tag) {
      SimFate fate;
      if (to == 1 && tag.channel == Channel::kExchange && tag.step == kStep) {
        fate.kind = SimFate::kIsCorrupt;
      }
      return fate;
    };
    oracle.Miss(1, kStep);
    ASSERT_TRUE(cluster.Run().ok());
    EXPECT_GE(cluster.stats(1).exchanges_skipped, 2u) << cluster.transcript();
    ASSERT_FALSE(cluster.worker(1).incidents().empty());
    // By its rank in the view.
    const PartnerIncident& incident = cluster.worker(1).incidents()[0];
    EXPECT_EQ(incident.worker_id, absl::StrCat("worker-", incident.partner));
    ExpectOracle(cluster, scenario, oracle);
    if (GetParam().each > 1) ExpectEqualGroups(cluster);
  }
}

// With overlap step a drift is sent on before it is noticed, and dies out.
TEST_P(Groups, AreEqualAgainSomeStepsAfterAnyLoss) {
  if (GetParam().each == 1) return;
  for (const Rule& rule : kRules) {
    SCOPED_TRACE(absl::StrCat(rule.payload, " ", rule.overlap));
    SimScenario scenario = Make(rule);
    scenario.steps = 80;
    SimCluster cluster(scenario);
    cluster.network().fate = [](Rank from, Rank to, const Tag& tag) {
      SimFate fate;
      // Not the notes beyond every step, so that rounds are found again.
      const bool lost = tag.step < 12 && (tag.step * 7 + static_cast<uint64_t>(from + to)) % 5 == 0;
      if (tag.channel == Channel::kExchange && lost) fate.kind = SimFate::kVanishes;
      return fate;
    };
    ASSERT_TRUE(cluster.Run().ok());
    uint64_t skipped = 0;
    for (Rank r = 0; r < size(); ++r) skipped += cluster.stats(r).exchanges_skipped;
    EXPECT_EQ(skipped > 0, GetParam().groups > 1);
    ExpectEqualGroups(cluster);
    if (HasFailure()) FAIL() << cluster.transcript();
  }
}

TEST_P(Groups, ALostMemberEndsItsGroupAndIsNamed) {
  if (GetParam().each == 1) return;
  SimScenario scenario = Make({"weights", "layerwise"});
  scenario.steps = 20;
  SimCluster cluster(scenario);
  const Rank lost = size() - 1;
  cluster.clock().After(absl::Milliseconds(45), [&] { cluster.network().Silence(lost); });
  ASSERT_TRUE(cluster.Run().ok());
  bool named = false;
  for (Rank r = lost % GetParam().groups; r < lost; r += GetParam().groups) {
    EXPECT_LT(cluster.steps_done(r), scenario.steps);
  }
  const std::string transcript = cluster.transcript();
  for (size_t at = 0; (at = transcript.find("error", at)) != std::string::npos; ++at) {
    const std::string line = transcript.substr(at, transcript.find('\n', at) - at);
    named = named || (line.find("inside the group of") != std::string::npos &&
                      line.find(absl::StrCat("worker-", lost)) != std::string::npos);
  }
  EXPECT_TRUE(named) << transcript;
}

TEST_P(Groups, DelaysAndDisorderChangeNoBit) {
  SimScenario scenario = Make({"weights-momentum", "layerwise"});
  SimCluster calm(scenario);
  ASSERT_TRUE(calm.Run().ok());
  scenario.network.max_delay = absl::Milliseconds(40);
  scenario.network.seed = 5;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(cluster.worker(r).Weights(), calm.worker(r).Weights());
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Groups,
                         testing::Values(Layout{2, 2}, Layout{2, 3}, Layout{3, 2}, Layout{4, 1},
                                         Layout{1, 4}),
                         [](const auto& param) {
                           return absl::StrCat(param.param.groups, "x", param.param.each);
                         });

TEST(OneGroup, IsAllReduceBitForBit) {
  SimScenario grouped = Scenario(4, "hierarchical", "weights", "layerwise");
  grouped.network.hosts = Hosts(1, 4);
  SimScenario plain = Scenario(4, "dissemination", "weights", "layerwise");
  plain.spec.algorithm = "allreduce-layerwise";
  // The gradients of both travel in the same pieces but for the last, which carries the news.
  plain.spec.collective = grouped.spec.collective = "recursive-doubling";
  SimCluster a(grouped), b(plain);
  ASSERT_TRUE(a.Run().ok());
  ASSERT_TRUE(b.Run().ok());
  for (Rank r = 0; r < 4; ++r) EXPECT_EQ(a.worker(r).Weights(), b.worker(r).Weights());
}

TEST(GroupsOfOne, AreDisseminationBitForBit) {
  SimScenario grouped = Scenario(5, "hierarchical", "weights-momentum", "step");
  SimScenario plain = Scenario(5, "dissemination", "weights-momentum", "step");
  SimCluster a(grouped), b(plain);
  ASSERT_TRUE(a.Run().ok());
  ASSERT_TRUE(b.Run().ok());
  EXPECT_EQ(a.transcript(), b.transcript());
}

}  // namespace
}  // namespace gg
