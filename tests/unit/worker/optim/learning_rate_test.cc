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

TEST(LearningRateTest, CosineEndsAtItsFloor) {
  const LearningRateSpec spec{.base = 2, .policy = "cosine", .floor = 0.1};
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 2);
  EXPECT_DOUBLE_EQ(Rate(spec, 50), 1.1);
  EXPECT_DOUBLE_EQ(Rate(spec, 100), 0.2);
  EXPECT_DOUBLE_EQ(Rate(spec, 1000), 0.2);
}

TEST(LearningRateTest, MultiStepDropsAtEachMilestone) {
  const LearningRateSpec spec{
      .base = 1, .policy = "multi-step", .gamma = 0.5, .milestones = {3, 7, 8}};
  EXPECT_DOUBLE_EQ(Rate(spec, 29), 1);
  EXPECT_DOUBLE_EQ(Rate(spec, 30), 0.5);
  EXPECT_DOUBLE_EQ(Rate(spec, 69), 0.5);
  EXPECT_DOUBLE_EQ(Rate(spec, 70), 0.25);
  EXPECT_DOUBLE_EQ(Rate(spec, 80), 0.125);
  EXPECT_DOUBLE_EQ(Rate(spec, 1000), 0.125);
}

TEST(LearningRateTest, ExponentialTakesItsFactorInTheCourseOfAnEpoch) {
  const LearningRateSpec spec{.base = 2, .policy = "exponential", .gamma = 0.25};
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 2);
  EXPECT_DOUBLE_EQ(Rate(spec, 5), 1);
  EXPECT_DOUBLE_EQ(Rate(spec, 10), 0.5);
  EXPECT_DOUBLE_EQ(Rate(spec, 20), 0.125);
}

TEST(LearningRateTest, InverseIsCaffes) {
  const LearningRateSpec spec{.base = 0.01, .policy = "inverse", .gamma = 1e-4, .power = 0.75};
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 0.01);
  EXPECT_DOUBLE_EQ(Rate(spec, 10000), 0.01 * std::pow(2, -0.75));
  const LearningRateSpec steep{.base = 1, .policy = "inverse", .gamma = 1, .power = 1};
  EXPECT_DOUBLE_EQ(Rate(steep, 3), 0.25);
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
  for (const char* policy :
       {"constant", "step", "multi-step", "exponential", "inverse", "poly", "cosine"}) {
    EXPECT_DOUBLE_EQ(LearningRate({.base = 1, .policy = policy, .milestones = {1}}, 0, 0, 0, 1), 1)
        << policy;
  }
}

}  // namespace
}  // namespace gg
