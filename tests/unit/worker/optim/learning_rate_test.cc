// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "gtest/gtest.h"
#include "worker/optim/optimizer.h"

namespace gg {
namespace {

constexpr uint64_t kPerEpoch = 10;
constexpr uint64_t kTotal = 100;

double Rate(const LearningRateSpec& spec, uint64_t step, int workers = 1) {
  return LearningRate(spec, step, kPerEpoch, kTotal, workers);
}

TEST(LearningRateTest, Constant) {
  const LearningRateSpec spec{.base = 0.3, .policy = "constant"};
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 0.3);
  EXPECT_DOUBLE_EQ(Rate(spec, 1000000), 0.3);
}

TEST(LearningRateTest, StepDropsOnTheFirstStepOfAnEpoch) {
  const LearningRateSpec spec{.base = 1, .policy = "step", .gamma = 0.5, .step_epochs = 3};
  EXPECT_DOUBLE_EQ(Rate(spec, 29), 1);
  EXPECT_DOUBLE_EQ(Rate(spec, 30), 0.5);
  EXPECT_DOUBLE_EQ(Rate(spec, 60), 0.25);
}

TEST(LearningRateTest, Poly) {
  const LearningRateSpec spec{.base = 2, .policy = "poly", .power = 2};
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 2);
  EXPECT_DOUBLE_EQ(Rate(spec, 50), 0.5);
  EXPECT_DOUBLE_EQ(Rate(spec, 100), 0);
  EXPECT_DOUBLE_EQ(Rate(spec, 150), 0) << "beyond the end, not negative and not NaN";
}

TEST(LearningRateTest, Cosine) {
  const LearningRateSpec spec{.base = 2, .policy = "cosine"};
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 2);
  EXPECT_DOUBLE_EQ(Rate(spec, 50), 1);
  EXPECT_NEAR(Rate(spec, 100), 0, 1e-12);
  EXPECT_NEAR(Rate(spec, 150), 0, 1e-12);
}

TEST(LearningRateTest, WarmUpRisesLinearlyAndMeetsThePolicy) {
  const LearningRateSpec spec{.base = 1, .policy = "constant", .warmup_epochs = 2};
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 1.0 / 20);
  EXPECT_DOUBLE_EQ(Rate(spec, 9), 10.0 / 20);
  EXPECT_DOUBLE_EQ(Rate(spec, 19), 1);
  EXPECT_DOUBLE_EQ(Rate(spec, 20), 1);
  const LearningRateSpec cosine{.base = 1, .policy = "cosine", .warmup_epochs = 2};
  EXPECT_DOUBLE_EQ(Rate(cosine, 9), 0.5 * (1 + std::cos(M_PI * 0.09)) / 2);
}

TEST(LearningRateTest, ScalingForWorkersIsBounded) {
  LearningRateSpec spec{.base = 0.01, .policy = "constant", .scaling = "linear"};
  EXPECT_DOUBLE_EQ(Rate(spec, 0, 1), 0.01);
  EXPECT_DOUBLE_EQ(Rate(spec, 0, 8), 0.08);
  spec.max_scaled = 0.05;
  EXPECT_DOUBLE_EQ(Rate(spec, 0, 8), 0.05);
  EXPECT_DOUBLE_EQ(Rate(spec, 0, 4), 0.04);
  spec.scaling = "sqrt";
  EXPECT_DOUBLE_EQ(Rate(spec, 0, 16), 0.04);
  spec.scaling = "none";
  EXPECT_DOUBLE_EQ(Rate(spec, 0, 16), 0.01);
}

TEST(LearningRateTest, UnknownNamesGiveNoRateAtAll) {
  EXPECT_TRUE(std::isnan(Rate({.policy = "magic"}, 0)));
  EXPECT_TRUE(std::isnan(Rate({.policy = "constant", .scaling = "cubic"}, 0)));
}

TEST(LearningRateTest, AnEmptyRunHasARate) {
  for (const char* policy : {"constant", "step", "poly", "cosine"}) {
    EXPECT_DOUBLE_EQ(LearningRate({.base = 1, .policy = policy}, 0, 0, 0, 1), 1) << policy;
  }
}

}  // namespace
}  // namespace gg
