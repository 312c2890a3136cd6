// SPDX-License-Identifier: Apache-2.0
// What gossip must keep and reach, through the real exchange code and for many workers: the mean
// model moves as if nobody had exchanged anything, for each payload, overlap and schedule; and
// without gradients a power of two of workers agree exactly after one round.
#include <bit>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"

namespace gg {
namespace {

SimScenario Scenario(absl::string_view payload, absl::string_view overlap,
                     absl::string_view schedule, int size) {
  SimScenario scenario;
  scenario.size = size;
  scenario.average = false;
  scenario.spec.payload = std::string(payload);
  scenario.spec.overlap = std::string(overlap);
  scenario.spec.schedule = std::string(schedule);
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1.0;
  scenario.network.max_delay = absl::Milliseconds(4);
  return scenario;
}

std::vector<std::pair<std::string, int>> SchedulesAndSizes() {
  std::vector<std::pair<std::string, int>> cases;
  for (const int size : {2, 3, 5, 8, 16, 33, 64}) {
    cases.emplace_back("dissemination", size);
    if (std::has_single_bit(static_cast<unsigned>(size))) cases.emplace_back("hypercube", size);
  }
  return cases;
}

using Case = std::tuple<std::string, std::string, std::pair<std::string, int>>;

class MeanPreserved : public testing::TestWithParam<Case> {};

TEST_P(MeanPreserved, ByEveryParameter) {
  const auto& [payload, overlap, where] = GetParam();
  SimScenario scenario = Scenario(payload, overlap, where.first, where.second);
  scenario.steps = 9;  // more than a round for all sizes: partners are rotated
  scenario.model.blocks = {5, 17, 3};
  scenario.model.curvature = 0;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (const size_t offset : cluster.worker(0).ParameterOffsets()) {
    double mean = 0;
    for (Rank r = 0; r < scenario.size; ++r) {
      mean += double{cluster.worker(r).arena().weights()[offset]} / scenario.size;
    }
    EXPECT_NEAR(mean, scenario.model.MeanAfter(scenario.steps, scenario.size, offset), 2e-6)
        << "parameter " << offset;
  }
  for (Rank r = 0; r < scenario.size; ++r) EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  const auto& [payload, overlap, where] = info.param;
  return absl::StrReplaceAll(
      absl::StrCat(payload, "_", overlap, "_", where.first, "_p", where.second), {{"-", "_"}});
}

INSTANTIATE_TEST_SUITE_P(All, MeanPreserved,
                         testing::Combine(testing::Values("gradients", "weights",
                                                          "weights-momentum"),
                                          testing::Values("none", "layerwise", "step"),
                                          testing::ValuesIn(SchedulesAndSizes())),
                         CaseName);

class Consensus : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Consensus, IsExactAfterOneGradientFreeRoundOfAPowerOfTwo) {
  const auto& [payload, schedule] = GetParam();
  for (const int size : {2, 4, 8, 16, 32, 64}) {
    const auto length = static_cast<uint64_t>(std::bit_width(static_cast<unsigned>(size)) - 1);
    for (const uint64_t round : {0u, 3u}) {  // the second one is rotated
      SimScenario scenario = Scenario(payload, "none", schedule, size);
      scenario.model.curvature = 0;
      scenario.model.noise = false;
      SimCluster cluster(scenario);
      const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
      // Whole numbers: their halves, quarters, ... are exact.
      for (Rank r = 0; r < size; ++r) {
        for (const size_t i : offsets) {
          cluster.worker(r).arena().weights()[i] = static_cast<float>(r + static_cast<int>(i));
        }
      }
      ASSERT_TRUE(cluster.RunSteps(round * length, length).ok());
      for (Rank r = 0; r < size; ++r) {
        for (const size_t i : offsets) {
          ASSERT_EQ(cluster.worker(r).arena().weights()[i],
                    static_cast<float>(i) + static_cast<float>(size - 1) / 2)
              << "rank " << r << " of " << size << ", round " << round;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Consensus,
                         testing::Combine(testing::Values("weights", "weights-momentum"),
                                          testing::Values("dissemination", "hypercube")));

}  // namespace
}  // namespace gg
