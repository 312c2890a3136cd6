// SPDX-License-Identifier: Apache-2.0
#include "core/apportion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.h"
#include "gmock/gmock.h"

namespace gg {
namespace {

using testing::ElementsAre;

TEST(Apportion, ExactSharesStayAsTheyAre) {
  EXPECT_THAT(Apportion(256, {1, 1, 1, 1}), ElementsAre(64, 64, 64, 64));
  EXPECT_THAT(Apportion(128, {3, 1}), ElementsAre(96, 32));
  EXPECT_THAT(Apportion(7, {5}), ElementsAre(7));
}

TEST(Apportion, LargestRemaindersGetTheRestAndTheFirstOfEqualOnes) {
  EXPECT_THAT(Apportion(10, {1, 1, 1}), ElementsAre(4, 3, 3));
  EXPECT_THAT(Apportion(10, {10, 6, 4}), ElementsAre(5, 3, 2));
  EXPECT_THAT(Apportion(5, {10, 6, 4}), ElementsAre(3, 1, 1));  // 2.5, 1.5, 1
}

TEST(Apportion, NobodyIsLeftWithNothing) {
  EXPECT_THAT(Apportion(10, {1000000, 1, 1}), ElementsAre(8, 1, 1));
  EXPECT_THAT(Apportion(3, {1, 1000, 1}), ElementsAre(1, 1, 1));
}

// Any total and weights: the sum, the least, the quota, the order; and where `total` is n times the sum of the
// weights or less, no part is more than n times its weight (epochs end together for that reason).
TEST(Apportion, HoldsItsPromisesForAnyWeights) {
  Rng rng(1, "apportion");
  for (int run = 0; run < 5000; ++run) {
    std::vector<int64_t> weights(1 + rng.Below(40));
    for (int64_t& w : weights)
      w = 1 + static_cast<int64_t>(rng.Below(run % 2 == 0 ? 20 : 1u << 30));
    const auto size = static_cast<int64_t>(weights.size());
    const int64_t total = size + static_cast<int64_t>(rng.Below(run % 3 == 0 ? 30 : 100000));
    const int64_t sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    const auto parts = Apportion(total, weights);
    ASSERT_EQ(std::accumulate(parts.begin(), parts.end(), int64_t{0}), total);
    const bool gave = std::any_of(weights.begin(), weights.end(),
                                  [&](int64_t w) { return static_cast<double>(total) * w < sum; });
    const int64_t steps = (total + sum - 1) / sum;
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSERT_GE(parts[i], 1);
      ASSERT_LE(parts[i], steps * weights[i]);
      const double quota = static_cast<double>(total) * static_cast<double>(weights[i]) / sum;
      ASSERT_LT(parts[i], quota + 1 + 1e-6);
      if (!gave) {
        ASSERT_GT(parts[i], quota - 1 - 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace gg
