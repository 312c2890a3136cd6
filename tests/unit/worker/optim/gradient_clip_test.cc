// SPDX-License-Identifier: Apache-2.0
#include "worker/optim/gradient_clip.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "tests/unit/worker/optim/fixture.h"

namespace gg {
namespace {

class GradientClipTest : public OptimizerTest {
 protected:
  double NormOf(ConstFlat values) {
    double sum = 0;
    for (const float value : values) sum += double{value} * value;
    return std::sqrt(sum);
  }
  const std::unique_ptr<ParamArena> arena_ = MakeArena();
};

TEST_F(GradientClipTest, TheNormOfAllLayersTogetherIsBounded) {
  Scatter(*arena_, arena_->gradients(), 1);
  const auto before = Values(arena_->gradients());
  const double norm = NormOf(before);
  GradientClip clip({.clip_norm = norm / 2}, *device_, *stream_, *arena_);
  ASSERT_TRUE(clip.needs_all());
  ASSERT_TRUE(clip.Block(0).ok());
  ASSERT_TRUE(clip.Block(1).ok());
  EXPECT_EQ(Values(arena_->gradients()), before);
  ASSERT_TRUE(clip.All().ok());
  EXPECT_NEAR(NormOf(arena_->gradients()), norm / 2, 1e-6 * norm);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(arena_->gradients()[i], before[i] / 2, 1e-6) << "the direction stays";
  }
}

TEST_F(GradientClipTest, ASmallGradientKeepsItsBits) {
  Scatter(*arena_, arena_->gradients(), 1);
  const auto before = Values(arena_->gradients());
  GradientClip clip({.clip_norm = 2 * NormOf(before)}, *device_, *stream_, *arena_);
  ASSERT_TRUE(clip.All().ok());
  EXPECT_EQ(Values(arena_->gradients()), before);
}

TEST_F(GradientClipTest, ValuesAreCutBlockByBlock) {
  Scatter(*arena_, arena_->gradients(), 1);
  const auto before = Values(arena_->gradients());
  GradientClip clip({.clip_value = 0.25}, *device_, *stream_, *arena_);
  EXPECT_FALSE(clip.needs_all());
  ASSERT_TRUE(clip.Block(1).ok());
  const size_t second = arena_->block(1).offset;
  size_t cut = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const float want = i < second ? before[i] : std::clamp(before[i], -0.25f, 0.25f);
    EXPECT_EQ(arena_->gradients()[i], want);
    cut += want != before[i] ? 1 : 0;
  }
  EXPECT_GT(cut, 10u);
}

TEST_F(GradientClipTest, ADivergedGradientIsToldAndNotHidden) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  arena_->gradients()[3] = nan;
  GradientClip by_value({.clip_value = 0.25}, *device_, *stream_, *arena_);
  ASSERT_TRUE(by_value.Block(0).ok());
  EXPECT_TRUE(std::isnan(arena_->gradients()[3]));
  GradientClip by_norm({.clip_norm = 1}, *device_, *stream_, *arena_);
  const absl::Status status = by_norm.All();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(status.message(), testing::HasSubstr("training has diverged"));
}

}  // namespace
}  // namespace gg
