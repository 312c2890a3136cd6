// SPDX-License-Identifier: Apache-2.0
// Encodings in whole simulated clusters: what an asynchronous centre and groups of workers keep under delays, and that
// every method counts the bytes that the network sees.
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/encoding_bounds.h"
#include "tests/support/sim_cluster.h"
#include "tests/support/sim_oracle.h"
#include "worker/collective/plan.h"
#include "worker/exchange/round_notes.h"

namespace gg {
namespace {

const std::vector<std::string>& Encodings() {
  static const auto* const encodings = new std::vector<std::string>{"bf16", "fp16", "int8"};
  return *encodings;
}

class ElasticCentre : public testing::TestWithParam<std::tuple<std::string, int>> {};

// A period in the middle of which everything asked has been answered, so that the run can end with nothing under way.
TEST_P(ElasticCentre, KeepsItsSumWithTheModelsWhateverTheDelays) {
  const auto& [encoding, size] = GetParam();
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SimScenario scenario;
    scenario.size = size;
    scenario.model.curvature = 0;
    scenario.model.noise = false;
    scenario.spec.algorithm = "easgd";
    scenario.spec.payload = "weights";
    scenario.spec.encoding = encoding;
    scenario.spec.period = 24;
    scenario.spec.deadline_seconds = 1;
    scenario.network = {
        .seed = seed, .max_delay = absl::Milliseconds(25), .rendezvous = seed % 2 == 0};
    SimCluster cluster(scenario);
    if (seed > 2) {
      cluster.network().fate = [](Rank from, Rank, const Tag&) {
        SimFate fate;
        fate.may_overtake = true;
        fate.extra_delay = absl::Milliseconds(from);
        return fate;
      };
    }
    const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
    const size_t floats = cluster.worker(0).arena().size();
    Vector sums(floats);
    for (Rank r = 0; r < size; ++r) {
      const Range strip = Strip(floats, size, r);
      for (const size_t i : offsets) {
        float& w = cluster.worker(r).arena().weights()[i];
        w += static_cast<float>(r) - 1.5f * static_cast<float>(i % 3);
        // The strip's owner begins its centre with its own model.
        sums[i] += (i >= strip.begin && i < strip.end ? 2.0 : 1.0) * w;
      }
    }
    ASSERT_TRUE(cluster.RunSteps(0, 24 * 6 + 23).ok());
    Vectors models;
    std::vector<std::function<void()>> bodies;
    for (Rank r = 0; r < size; ++r) {
      models.push_back(Doubles(cluster.worker(r).Weights()));
      EXPECT_GT(cluster.stats(r).exchanges_done, 0u);
      bodies.push_back([&cluster, r] {
        const absl::Time deadline = cluster.clock().Now() + absl::Seconds(10);
        const auto distance = cluster.worker(r).exchange().AverageReplicas(deadline);
        ASSERT_TRUE(distance.ok()) << distance.status();
      });
    }
    ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
    const std::vector<float> centre = cluster.worker(0).Weights();
    double spread = 0;
    for (const size_t i : offsets) {
      double sum = centre[i], largest = std::abs(centre[i]);
      for (const Vector& model : models) {
        sum += model[i];
        largest = std::max(largest, std::abs(model[i]));
        spread = std::max(spread, std::abs(model[i] - centre[i]));
      }
      ASSERT_NEAR(sum, sums[i], 1e-5 * (size + 1)) << "seed " << seed << " place " << i;
    }
    EXPECT_LT(spread, 3.0 * size) << "it pulls";
    for (Rank r = 1; r < size; ++r) EXPECT_EQ(cluster.worker(r).Weights(), centre);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElasticCentre,
                         testing::Combine(testing::ValuesIn(Encodings()), testing::Range(2, 10)),
                         [](const auto& param) {
                           return absl::StrCat(std::get<0>(param.param), "_p",
                                               std::get<1>(param.param));
                         });

class EncodedGroups
    : public testing::TestWithParam<std::tuple<std::string, std::string, std::string>> {};

// Members draw the same rounding, since their places among the groups are the same: else they would drift apart.
TEST_P(EncodedGroups, StayEqualInsideAndNearTheRuleBetween) {
  const auto& [encoding, algorithm, overlap] = GetParam();
  SimScenario scenario;
  scenario.size = 4;
  scenario.steps = 9;
  scenario.average = false;
  scenario.model.curvature = 0;
  scenario.spec.algorithm = algorithm;
  scenario.spec.schedule = "hierarchical";
  scenario.spec.payload = "weights";
  scenario.spec.overlap = overlap;
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1;
  scenario.network.max_delay = absl::Milliseconds(4);
  scenario.network.hosts = {"host-0", "host-1", "host-0", "host-1"};
  ExchangeSpec rule = scenario.spec;
  rule.algorithm = "gossip-grad";  // with factor 1/2, as sgp where nobody is late
  scenario.spec.encoding = encoding;
  SimCluster cluster(scenario);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  SimOracle oracle(scenario.model, rule, 4, offsets, false, scenario.network.hosts);
  ASSERT_TRUE(cluster.Run().ok());
  double largest = 0;
  for (uint64_t step = 0; step < scenario.steps; ++step) {
    oracle.Step(step);
    for (const Vector& w : oracle.Settled()) {
      for (const double value : w) largest = std::max(largest, std::abs(value));
    }
  }
  const Vectors expected = oracle.Settled();
  const Vector mean = oracle.Mean();
  const double bound = static_cast<double>(scenario.steps) * LossOf(encoding) * 1.1 * largest;
  for (Rank r = 0; r < 4; ++r) {
    ASSERT_EQ(cluster.steps_done(r), scenario.steps) << cluster.transcript();
    EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(r % 2).Weights());
    EXPECT_EQ(cluster.worker(r).Momentum(), cluster.worker(r % 2).Momentum());
    for (size_t k = 0; k < offsets.size(); ++k) {
      ASSERT_NEAR(cluster.worker(r).Weights()[offsets[k]], expected[r][k], bound);
    }
  }
  for (size_t k = 0; k < offsets.size(); ++k) {
    double actual = 0;
    for (Rank r = 0; r < 4; ++r) actual += cluster.worker(r).Weights()[offsets[k]] / 4;
    ASSERT_NEAR(actual, mean[k], kFloat) << "parameter " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(TwoOfTwo, EncodedGroups,
                         testing::Combine(testing::ValuesIn(Encodings()),
                                          testing::Values("gossip-grad", "sgp"),
                                          testing::Values("none", "layerwise")),
                         [](const auto& param) {
                           return Plain(absl::StrCat(std::get<0>(param.param), "_",
                                                     std::get<1>(param.param), "_",
                                                     std::get<2>(param.param)));
                         });

class WireBytesOf : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

// What each method counts is what the network sees, but for notes.
TEST_P(WireBytesOf, AreThoseOfTheNetwork) {
  const auto& [method, encoding] = GetParam();
  SimScenario scenario;
  scenario.size = 4;
  scenario.steps = 12;
  scenario.average = false;
  scenario.spec.algorithm = method == "hierarchical" ? "gossip-grad" : method;
  scenario.spec.payload = "weights";
  scenario.spec.encoding = encoding;
  scenario.spec.bucket_bytes = 400;
  scenario.spec.period = 3;
  scenario.spec.push_probability = 0.7;
  scenario.spec.deadline_seconds = 1;
  if (method == "easgd-synchronous") {
    scenario.spec.algorithm = "easgd";
    scenario.spec.asynchronous = false;
  }
  if (method == "hierarchical") {
    scenario.spec.schedule = method;
    scenario.network.hosts = {"host-0", "host-1", "host-0", "host-1"};
  }
  SimCluster cluster(scenario);
  std::map<Rank, std::pair<uint64_t, uint64_t>> seen;  // messages, bytes
  cluster.network().on_send = [&](Rank from, Rank, const Tag& tag, ConstBytes bytes) {
    constexpr uint32_t kBodyBlock = 2;
    const bool beyond_steps = tag.channel == Channel::kExchange && tag.step >= RoundNotes::kFirst;
    if (beyond_steps && tag.block != kBodyBlock) return;
    ++seen[from].first;
    seen[from].second += bytes.size();
  };
  ASSERT_TRUE(cluster.Run().ok());
  double received = 0, sent = 0;
  for (Rank r = 0; r < 4; ++r) {
    const ExchangeStats& stats = cluster.stats(r);
    const RecordingSink& metrics = cluster.worker(r).metrics();
    EXPECT_GT(stats.bytes_sent, 0u);
    EXPECT_EQ(stats.messages_sent, seen[r].first) << "rank " << r;
    EXPECT_EQ(stats.bytes_sent, seen[r].second) << "rank " << r;
    EXPECT_EQ(metrics.counter(CounterId::kGossipBytes, "sent"), seen[r].second);
    sent += metrics.counter(CounterId::kGossipBytes, "sent");
    received += metrics.counter(CounterId::kGossipBytes, "received");
  }
  EXPECT_GT(received, 0.7 * sent) << "but for what is under way at the end";
  EXPECT_LE(received, sent);
}

INSTANTIATE_TEST_SUITE_P(
    All, WireBytesOf,
    testing::Combine(testing::Values("gossip-grad", "allreduce", "allreduce-layerwise",
                                     "reduce-scatter", "periodic-average", "local-sgd", "cocod",
                                     "d-psgd", "sgp", "gosgd", "ad-psgd", "easgd",
                                     "easgd-synchronous", "hierarchical"),
                     testing::Values("fp32", "bf16", "fp16", "int8")),
    [](const auto& param) {
      return Plain(absl::StrCat(std::get<0>(param.param), "_", std::get<1>(param.param)));
    });

}  // namespace
}  // namespace gg
