// SPDX-License-Identifier: Apache-2.0
// Large messages wait until their receiver has got those of the round before (worker/exchange/inflight.h), in whole
// clusters: late, in disorder, with words that are lost, on threads.
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "tests/support/sim_threads.h"
#include "worker/exchange/inflight.h"

namespace gg {
namespace {

struct Method {
  const char* algorithm;
  const char* overlap;
};

constexpr Method kMethods[] = {{"gossip-grad", "none"},
                               {"gossip-grad", "layerwise"},
                               {"gossip-grad", "step"},
                               {"d-psgd", "layerwise"}};

bool IsMessage(const Tag& tag) {
  return tag.channel == Channel::kExchange && tag.step < (uint64_t{1} << 40) &&
         tag.block != Inflight::kAdmission;
}

SimScenario Scenario(const Method& method, int size, uint64_t seed, bool large = true) {
  SimScenario scenario;
  scenario.size = size;
  scenario.steps = 9;
  scenario.spec.algorithm = method.algorithm;
  scenario.spec.overlap = method.overlap;
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 5;
  if (large) scenario.model.blocks = {4'200, 40, 3, 900};
  scenario.network = {.seed = seed, .max_delay = absl::Milliseconds(40)};
  scenario.compute = [seed](Rank r, uint64_t step) {
    return absl::Milliseconds(5 + (7 * static_cast<uint64_t>(r) + 3 * step + seed) % 20);
  };
  return scenario;
}

class Pacing : public testing::TestWithParam<std::tuple<int, int>> {  // method, size
 protected:
  Method method() const { return kMethods[std::get<0>(GetParam())]; }
  int size() const { return std::get<1>(GetParam()); }

  // How many messages left while one of an earlier round was still to come to their receiver.
  int Overtakings(const SimScenario& scenario) const {
    SimCluster cluster(scenario);
    std::map<Rank, std::map<uint64_t, int>> under_way;  // receiver, round
    std::map<std::pair<Rank, uint64_t>, int> arrived;
    int messages = 0, count = 0;
    cluster.network().on_send = [&](Rank, Rank to, const Tag& tag, ConstBytes) {
      if (!IsMessage(tag)) return;
      ++messages;
      auto& rounds = under_way[to];
      for (const auto& [round, left] : rounds) count += round < tag.step && left > 0 ? 1 : 0;
      ++rounds[tag.step];
    };
    cluster.network().on_recv_end = [&](Rank to, Rank, const Tag& tag, const absl::Status& status) {
      if (IsMessage(tag) && status.ok()) --under_way[to][tag.step];
    };
    EXPECT_TRUE(cluster.Run().ok());
    EXPECT_GT(messages, 0);
    for (Rank r = 0; r < scenario.size; ++r) EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u) << r;
    return count;
  }
};

TEST_P(Pacing, NoMessageIsUnderWayWithOneOfAnEarlierRound) {
  int small = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(Overtakings(Scenario(method(), size(), seed)), 0) << "seed " << seed;
    small += Overtakings(Scenario(method(), size(), seed, /*large=*/false));
  }
  // What the others do not have: with two workers, and where partners never change, nobody gets ahead.
  if (size() > 3) {
    EXPECT_GT(small, 0) << "the small messages, which are not paced, show what is counted";
  }
}

TEST_P(Pacing, ModelsDoNotDependOnWhoWasFaster) {
  std::vector<std::vector<float>> first;
  for (const uint64_t seed : {1, 2, 3}) {
    SimCluster cluster(Scenario(method(), size(), seed));
    ASSERT_TRUE(cluster.Run().ok());
    for (Rank r = 0; r < size(); ++r) {
      const std::vector<float> weights = cluster.worker(r).Weights();
      if (seed == 1) first.push_back(weights);
      EXPECT_EQ(weights, first[r]) << "rank " << r << " seed " << seed;
    }
  }
}

TEST_P(Pacing, AWordThatIsDamagedOrLostHoldsNobodyForLong) {
  for (const SimFate::Kind kind : {SimFate::kIsCorrupt, SimFate::kVanishes}) {
    SimScenario scenario = Scenario(method(), size(), 1);
    scenario.steps = 20;
    scenario.average = false;
    scenario.spec.deadline_seconds = 0.2;
    SimCluster cluster(scenario);
    cluster.network().fate = [&](Rank from, Rank, const Tag& tag) {
      SimFate fate;
      if (tag.block == Inflight::kAdmission && from == 0 && tag.step == 5) fate.kind = kind;
      return fate;
    };
    ASSERT_TRUE(cluster.Run().ok());
    uint64_t skipped = 0, done = 0;
    for (Rank r = 0; r < size(); ++r) {
      EXPECT_EQ(cluster.steps_done(r), scenario.steps);
      skipped += cluster.stats(r).exchanges_skipped;
      done += cluster.stats(r).exchanges_done;
    }
    if (kind == SimFate::kIsCorrupt) {
      EXPECT_EQ(skipped, 0u) << "its receiver has heard";
    } else {
      EXPECT_LE(skipped, done / 5) << "the one message, and what its delay costs";
    }
  }
}

TEST_P(Pacing, OnThreadsEveryMessageLeaves) {
  SimModel model;
  model.blocks = {4'200, 40, 3, 900};
  ExchangeSpec spec = SimSpec("weights", method().overlap);
  spec.algorithm = method().algorithm;
  ThreadCluster first(model, spec, size()), second(model, spec, size());
  first.Train(0, 10);
  second.Train(0, 10);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(first.stats(r).exchanges_skipped, 0u);
    EXPECT_EQ(first.worker(r).Weights(), second.worker(r).Weights());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pacing,
                         testing::Combine(testing::Range(0, 4), testing::Values(2, 4, 5)),
                         [](const auto& param) {
                           const Method& method = kMethods[std::get<0>(param.param)];
                           std::string name = std::string(method.algorithm) + "_" + method.overlap;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name + "_p" + std::to_string(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace gg
