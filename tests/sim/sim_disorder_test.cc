// SPDX-License-Identifier: Apache-2.0
// Messages that come before their receiver's step, twice, or in another order than they were sent:
// none of it may change a bit of any replica, as long as no deadline is missed.
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"

namespace gg {
namespace {

struct Rule {
  const char* payload;
  const char* overlap;
  const char* algorithm = "gossip-grad";
  // A collective in which each message of a pair awaits the answer to the last: none can pass another.
  bool in_turn = false;
};

void PrintTo(const Rule& rule, std::ostream* out) {
  *out << rule.algorithm << " " << rule.payload << " " << rule.overlap;
}

class Disorder : public testing::TestWithParam<Rule> {
 protected:
  SimScenario Make(int size) const {
    SimScenario scenario;
    scenario.size = size;
    scenario.steps = 12;
    scenario.spec.algorithm = GetParam().algorithm;
    scenario.spec.payload = GetParam().payload;
    scenario.spec.overlap = GetParam().overlap;
    scenario.spec.bucket_bytes = 400;
    scenario.spec.deadline_seconds = 30;
    scenario.spec.period = 2;
    scenario.spec.asynchronous = false;  // easgd
    scenario.network.max_delay = absl::Milliseconds(40);
    scenario.compute = [](Rank r, uint64_t step) {
      return absl::Milliseconds(5 + 20 * ((r + step) % 3 == 0));
    };
    return scenario;
  }

  static bool gossip() { return std::string(GetParam().algorithm) == "gossip-grad"; }

  static void ExpectTheSameModels(const SimScenario& scenario, SimCluster& cluster,
                                  SimCluster& reference) {
    ASSERT_TRUE(reference.Run().ok());
    ASSERT_TRUE(cluster.Run().ok());
    for (Rank r = 0; r < scenario.size; ++r) {
      EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
      EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
      EXPECT_EQ(cluster.worker(r).Weights(), reference.worker(r).Weights()) << "rank " << r;
      EXPECT_EQ(cluster.worker(r).Momentum(), reference.worker(r).Momentum()) << "rank " << r;
    }
  }
};

TEST_P(Disorder, EarlyMessagesWaitForTheirStep) {
  uint64_t early = 0, steps = 0;
  for (const int size : {2, 5, 8}) {
    SimScenario scenario = Make(size);
    SimCluster reference(scenario);
    // One worker is always behind: what its partners send comes before it has begun the step.
    scenario.compute = [](Rank r, uint64_t) { return absl::Milliseconds(r == 1 ? 200 : 5); };
    SimCluster cluster(scenario);
    ExpectTheSameModels(scenario, cluster, reference);
    early += cluster.network().early();
    steps += scenario.steps;
  }
  EXPECT_GT(early, gossip() ? steps : steps / 6);
}

TEST_P(Disorder, RepeatedMessagesAreTakenOnce) {
  for (const int size : {2, 5, 8}) {
    SimScenario scenario = Make(size);
    SimCluster reference(scenario), cluster(scenario);
    cluster.network().fate = [](Rank, Rank, const Tag&) {
      return SimFate{SimFate::kArrivesTwice, absl::ZeroDuration()};
    };
    ExpectTheSameModels(scenario, cluster, reference);
    EXPECT_GT(cluster.network().repeated(),
              scenario.steps * static_cast<uint64_t>(size) / (gossip() ? 1 : 2));
  }
}

// More than the contract of the transport allows: messages of one pair and channel pass each other.
TEST_P(Disorder, ReorderedMessagesFindTheirPlace) {
  uint64_t overtakings = 0;
  for (const int size : {2, 5, 8}) {
    SimScenario scenario = Make(size);
    SimCluster reference(scenario), cluster(scenario);
    cluster.network().fate = [](Rank from, Rank to, const Tag& tag) {
      Rng rng(7, absl::StrCat("order/", from, "/", to, "/", tag.block), tag.step);
      SimFate fate;
      fate.may_overtake = true;
      fate.extra_delay = absl::Milliseconds(static_cast<int64_t>(rng.Below(300)));
      return fate;
    };
    ExpectTheSameModels(scenario, cluster, reference);
    overtakings += cluster.network().overtakings();
  }
  EXPECT_EQ(overtakings > 0, !GetParam().in_turn);
}

INSTANTIATE_TEST_SUITE_P(Rules, Disorder,
                         testing::Values(Rule{"gradients", "none"}, Rule{"gradients", "layerwise"},
                                         Rule{"gradients", "step"}, Rule{"weights", "none"},
                                         Rule{"weights", "layerwise"}, Rule{"weights", "step"},
                                         Rule{"weights-momentum", "none"},
                                         Rule{"weights-momentum", "layerwise"},
                                         Rule{"weights-momentum", "step"}));

// Those in which a step takes what is its own, whoever was faster: not sgp with overlap step.
INSTANTIATE_TEST_SUITE_P(
    Methods, Disorder,
    testing::Values(Rule{"gradients", "none", "allreduce", true},
                    Rule{"gradients", "layerwise", "allreduce-layerwise"},
                    Rule{"gradients", "layerwise", "reduce-scatter"},
                    Rule{"weights", "none", "periodic-average", true},
                    Rule{"weights", "none", "local-sgd", true},
                    Rule{"weights", "none", "cocod", true}, Rule{"weights", "none", "d-psgd"},
                    Rule{"weights", "layerwise", "d-psgd"}, Rule{"weights", "none", "sgp"},
                    Rule{"weights", "layerwise", "sgp"}, Rule{"weights", "none", "easgd", true}),
    [](const auto& rule) {
      std::string name = absl::StrCat(rule.param.algorithm, "_", rule.param.overlap);
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

}  // namespace
}  // namespace gg
