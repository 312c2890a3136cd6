// SPDX-License-Identifier: Apache-2.0
#include "core/rng.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace gg {
namespace {

std::vector<uint32_t> Draw(Rng rng, int n) {
  std::vector<uint32_t> values;
  for (int i = 0; i < n; ++i) values.push_back(rng.NextU32());
  return values;
}

TEST(Rng, SameArgumentsGiveTheSameNumbers) {
  EXPECT_EQ(Draw(Rng(7, "rotation", 3), 100), Draw(Rng(7, "rotation", 3), 100));
}

TEST(Rng, SeedStreamAndIndexEachChangeTheNumbers) {
  const auto base = Draw(Rng(7, "rotation", 3), 8);
  EXPECT_NE(base, Draw(Rng(8, "rotation", 3), 8));
  EXPECT_NE(base, Draw(Rng(7, "shuffle", 3), 8));
  EXPECT_NE(base, Draw(Rng(7, "rotation", 4), 8));
}

TEST(Rng, TheNumbersOfASeedNeverChange) {
  // A change here makes every job of every user come out differently: schedules, initial weights,
  // shuffles. The values come from a second implementation, itself checked against the published
  // known answers of Philox.
  EXPECT_EQ(
      Draw(Rng(1, "rotation", 1), 5),
      (std::vector<uint32_t>{0xA3D51ADFu, 0x56CFC16Au, 0xEC866408u, 0x95E7E422u, 0x1D6CEE8Eu}));
  EXPECT_EQ(StableHash("gossip"), 0xBA4E7A06162EB890u);
}

TEST(Rng, PositionContinuesBitForBit) {
  Rng rng(5, "shuffle");
  for (int i = 0; i < 13; ++i) rng.NextU32();
  Rng resumed(5, "shuffle");
  resumed.SetPosition(rng.position());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(rng.NextU64(), resumed.NextU64());
}

TEST(Rng, BelowReachesEveryValueAndNothingElse) {
  Rng rng(2, "below");
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen[rng.Below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(rng.Below(1), 0u);
}

TEST(Rng, UniformStaysInItsRangeWithMeanOneHalf) {
  Rng rng(3, "uniform");
  double sum = 0;
  for (int i = 0; i < 20000; ++i) {
    const float x = rng.Uniform();
    ASSERT_GE(x, 0.0f);
    ASSERT_LT(x, 1.0f);
    sum += x;
  }
  EXPECT_NEAR(sum / 20000, 0.5, 0.01);
}

TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng(4, "normal");
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = rng.Normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 20000, 0.0, 0.03);
  EXPECT_NEAR(squares / 20000, 1.0, 0.05);
}

TEST(Rng, ShuffleKeepsEveryElement) {
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i) values[i] = i;
  Rng(9, "shuffle").Shuffle(absl::MakeSpan(values));
  EXPECT_NE(values[0] * 64 + values[1], 1);
  EXPECT_EQ(std::set<int>(values.begin(), values.end()).size(), 64u);
}

TEST(Rng, ShuffleOfNothingAndOfOneIsHarmless) {
  std::vector<int> none, one = {5};
  Rng(9, "shuffle").Shuffle(absl::MakeSpan(none));
  Rng(9, "shuffle").Shuffle(absl::MakeSpan(one));
  EXPECT_EQ(one, std::vector<int>{5});
}

}  // namespace
}  // namespace gg
