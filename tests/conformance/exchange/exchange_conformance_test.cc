// SPDX-License-Identifier: Apache-2.0
// What every exchange rule must fulfil: each payload and overlap, for 1 .. 9 workers on threads,
// against an oracle that computes the whole cluster's trajectory in double precision; and what
// every algorithm must fulfil whatever it does.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_oracle.h"
#include "tests/support/sim_threads.h"

namespace gg {
namespace {

constexpr int kSteps = 9;

struct Case {
  std::string payload;
  std::string overlap;
  int size;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      for (int size = 1; size <= 9; ++size) cases.push_back({payload, overlap, size});
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Case>& param) {
  std::string name =
      param.param.payload + "_" + param.param.overlap + "_p" + std::to_string(param.param.size);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

class ExchangeConformance : public testing::TestWithParam<Case> {
 protected:
  int size() const { return GetParam().size; }
  ExchangeSpec Spec() const { return SimSpec(GetParam().payload, GetParam().overlap); }
  SimModel model_;
};

TEST_P(ExchangeConformance, FollowsTheDenseOracle) {
  ThreadCluster cluster(model_, Spec(), size());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  SimOracle oracle(model_, Spec(), size(), offsets);
  for (uint64_t step = 0; step < kSteps; ++step) {
    // With Settle after every step, as an evaluation does: it must not change the trajectory.
    cluster.Train(step, 1);
    oracle.Step(step);
    const auto expected = oracle.Settled();
    for (Rank r = 0; r < size(); ++r) {
      const std::vector<float> actual = cluster.worker(r).Weights();
      for (size_t k = 0; k < offsets.size(); ++k) {
        ASSERT_NEAR(actual[offsets[k]], expected[r][k], 2e-6)
            << "step " << step << " rank " << r << " parameter " << k;
      }
    }
  }
}

TEST_P(ExchangeConformance, SettleChangesNothingButWhen) {
  ThreadCluster often(model_, Spec(), size()), once(model_, Spec(), size());
  for (uint64_t step = 0; step < kSteps; ++step) often.Train(step, 1);
  once.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(often.worker(r).Weights(), once.worker(r).Weights());
    EXPECT_EQ(often.worker(r).Momentum(), once.worker(r).Momentum());
  }
}

TEST_P(ExchangeConformance, LayerwiseOverlapChangesNoBit) {
  if (GetParam().overlap != "layerwise") return;
  ExchangeSpec blocking = Spec();
  blocking.overlap = "none";
  ThreadCluster overlapped(model_, Spec(), size()), plain(model_, blocking, size());
  overlapped.Train(0, kSteps);
  plain.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(overlapped.worker(r).Weights(), plain.worker(r).Weights());
    EXPECT_EQ(overlapped.worker(r).Momentum(), plain.worker(r).Momentum());
  }
}

TEST_P(ExchangeConformance, KeepsTheMeanOfTheModels) {
  // The mean over the workers must move as if every worker had applied its own gradient and nobody
  // had exchanged anything: with no curvature the gradients do not depend on the weights, so this
  // can be computed without exchange.
  model_.curvature = 0;
  ThreadCluster cluster(model_, Spec(), size());
  cluster.Train(0, kSteps);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (const size_t i : offsets) {
    const double expected = model_.MeanAfter(kSteps, size(), i);
    double actual = 0;
    for (Rank r = 0; r < size(); ++r) actual += double{cluster.worker(r).Weights()[i]} / size();
    ASSERT_NEAR(actual, expected, 2e-6);
  }
}

TEST_P(ExchangeConformance, SameSeedGivesTheSameBitsTwice) {
  ThreadCluster first(model_, Spec(), size()), second(model_, Spec(), size());
  first.Train(0, kSteps);
  second.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(first.worker(r).Weights(), second.worker(r).Weights());
    EXPECT_EQ(first.worker(r).Momentum(), second.worker(r).Momentum());
  }
}

TEST_P(ExchangeConformance, MessagesAndBytesPerStepDoNotGrowWithTheWorkers) {
  if (size() == 1) return;
  ThreadCluster cluster(model_, Spec(), size());
  cluster.Train(0, kSteps);
  // 5, 40, 3 and 17 floats padded to lines of 16, in messages of up to 400 bytes.
  const size_t parts = GetParam().payload == "weights-momentum" ? 2 : 1;
  const uint64_t messages = parts == 2 ? 3 : 2;
  const uint64_t bytes = (16 + 48 + 16 + 32) * sizeof(float) * parts;
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(cluster.stats(r).messages_sent, messages * kSteps);
    EXPECT_EQ(cluster.stats(r).bytes_sent, bytes * kSteps);
    EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
    EXPECT_EQ(cluster.worker(r).metrics().counter(CounterId::kGossipMessages, "sent"),
              messages * kSteps);
    EXPECT_EQ(cluster.worker(r).metrics().counter(CounterId::kGossipBytes, "sent"), bytes * kSteps);
    EXPECT_TRUE(cluster.worker(r).incidents().empty());
  }
}

TEST_P(ExchangeConformance, PaddingStaysZero) {
  ThreadCluster cluster(model_, Spec(), size());
  cluster.Train(0, kSteps);
  SimWorker& worker = cluster.worker(0);
  std::vector<bool> used(worker.arena().size());
  for (const size_t i : worker.ParameterOffsets()) used[i] = true;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    EXPECT_EQ(worker.arena().weights()[i], 0.0f);
    EXPECT_EQ(worker.arena().momentum()[i], 0.0f);
  }
}

TEST_P(ExchangeConformance, FinalAverageIsTheSameBitsEverywhereAndTheTrueMean) {
  model_.buffer_floats = 7;
  ThreadCluster cluster(model_, Spec(), size());
  cluster.Train(0, kSteps);
  std::vector<std::vector<float>> w, v;
  for (Rank r = 0; r < size(); ++r) {
    w.push_back(cluster.worker(r).Weights());
    v.push_back(cluster.worker(r).Momentum());
    for (int i = 0; i < 7; ++i) cluster.worker(r).arena().buffers()[i] = static_cast<float>(r + i);
  }
  std::vector<double> distance(size());
  cluster.Run([&](Rank r) {
    const auto result = cluster.worker(r).exchange().AverageReplicas(absl::InfiniteFuture());
    ASSERT_TRUE(result.ok()) << result.status();
    distance[r] = *result;
  });
  const std::vector<float> average = cluster.worker(0).Weights();
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(cluster.worker(r).Weights(), average);
    EXPECT_EQ(cluster.worker(r).Momentum(), cluster.worker(0).Momentum());
    double squared = 0;
    for (size_t i = 0; i < average.size(); ++i) {
      double mean_w = 0, mean_v = 0;
      for (Rank q = 0; q < size(); ++q) {
        mean_w += double{w[q][i]} / size();
        mean_v += double{v[q][i]} / size();
      }
      ASSERT_NEAR(average[i], mean_w, 1e-6);
      ASSERT_NEAR(cluster.worker(r).Momentum()[i], mean_v, 1e-6);
      squared += (double{w[r][i]} - mean_w) * (double{w[r][i]} - mean_w);
    }
    EXPECT_NEAR(distance[r], std::sqrt(squared), 1e-5);
    for (int i = 0; i < 7; ++i) {
      EXPECT_NEAR(cluster.worker(r).arena().buffers()[i], i + (size() - 1) / 2.0, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExchangeConformance, testing::ValuesIn(Cases()), CaseName);

}  // namespace
}  // namespace gg
