// SPDX-License-Identifier: Apache-2.0
#include "worker/optim/param_ranges.h"

#include "gmock/gmock.h"
#include "tests/unit/worker/optim/fixture.h"

namespace gg {
namespace {

using testing::HasSubstr;

TEST(PatternMatches, StarsAndQuestionMarks) {
  EXPECT_TRUE(PatternMatches("*", "conv1.weight"));
  EXPECT_TRUE(PatternMatches("*.bias", "conv1.bias"));
  EXPECT_TRUE(PatternMatches("conv?.*", "conv1.bias"));
  EXPECT_TRUE(PatternMatches("*1*a*", "conv1.bias"));
  EXPECT_TRUE(PatternMatches("**s", "conv1.bias"));
  EXPECT_TRUE(PatternMatches("conv1.bias", "conv1.bias"));
  EXPECT_TRUE(PatternMatches("*ab", "aaab")) << "what a star has taken may have to be more";
  EXPECT_FALSE(PatternMatches("*.bias", "conv1.biases"));
  EXPECT_FALSE(PatternMatches("conv?.bias", "conv12.bias"));
  EXPECT_FALSE(PatternMatches("conv", "conv1"));
  EXPECT_FALSE(PatternMatches("", "a"));
  EXPECT_FALSE(PatternMatches("?", ""));
}

class ParamRangesTest : public OptimizerTest {};

TEST_F(ParamRangesTest, TogetherTheyAreTheArena) {
  const auto arena = MakeArena();
  const auto ranges = RangesOfParameters({.weight_decay = 0.5}, *arena).value();
  ASSERT_EQ(ranges.size(), 5u);
  size_t at = 0;
  for (const ParamRange& range : ranges) {
    EXPECT_EQ(range.offset, at);
    EXPECT_EQ(range.weight_decay, 0.5);
    EXPECT_EQ(range.rate_factor, 1);
    at += range.count;
  }
  EXPECT_EQ(at, arena->size());
  EXPECT_EQ(Joined(ranges).size(), 1u) << "treated alike, updated at once";
}

TEST_F(ParamRangesTest, TheLongestPatternCounts) {
  const auto arena = MakeArena();
  const auto ranges = RangesOfParameters({.weight_decay = 0.5,
                                          .weight_decays = {{"*.bias", 0}, {"fc1.bias", 2}},
                                          .rate_factors = {{"*", 3}, {"bn*", 4}}},
                                         *arena)
                          .value();
  std::vector<double> decays, factors;
  for (const ParamRange& range : ranges) {
    decays.push_back(range.weight_decay);
    factors.push_back(range.rate_factor);
  }
  EXPECT_THAT(decays, testing::ElementsAre(0.5, 0, 0.5, 0.5, 2));
  EXPECT_THAT(factors, testing::ElementsAre(3, 3, 4, 3, 3));
  EXPECT_EQ(Joined(ranges).size(), 5u);
}

TEST_F(ParamRangesTest, APatternWithoutAMatchNamesTheParameters) {
  const absl::Status status = Refusal({.weight_decays = {{"*.biass", 0}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(),
            "spec.optimizer.weight_decays: \"*.biass\" matches no parameter; they are fc2.weight, "
            "fc2.bias, bn1.gamma, fc1.weight, fc1.bias");
}

TEST_F(ParamRangesTest, ARivalOfEqualLengthIsRefusedUnlessItSaysTheSame) {
  const absl::Status status = Refusal({.rate_factors = {{"fc1.b*", 2}, {"*.bias", 3}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(status.message(),
              HasSubstr("spec.optimizer.rate_factors: \"*.bias\" and \"fc1.b*\""));
  EXPECT_THAT(status.message(), HasSubstr("fc1.bias"));
  EXPECT_TRUE(Refusal({.rate_factors = {{"fc1.b*", 2}, {"*.bias", 2}}}).ok());
  EXPECT_TRUE(Refusal({.rate_factors = {{"fc1.b*", 2}, {"*.bias", 3}, {"fc1.bias", 1}}}).ok())
      << "a longer one decides";
}

}  // namespace
}  // namespace gg
