// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "tests/unit/worker/nn/fixture.h"

namespace gg {
namespace {

using testing::ElementsAre;

class HooksTest : public NetworkTest {};

bool AnyNaN(ConstFlat values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

TEST_F(HooksTest, BlocksAreNeededFirstLayerFirstAndReadyLastLayerFirst) {
  auto net = Make(SmallMlp());
  std::vector<BlockIndex> needed, ready;
  ASSERT_TRUE(net->Forward(0, x_, labels_,
                           [&](BlockIndex b) {
                             needed.push_back(b);
                             return absl::OkStatus();
                           })
                  .ok());
  ASSERT_TRUE(net->Backward([&](BlockIndex b) {
                   ready.push_back(b);
                   return absl::OkStatus();
                 })
                  .ok());
  EXPECT_THAT(needed, ElementsAre(2, 1, 0));
  EXPECT_THAT(ready, ElementsAre(0, 1, 2));
}

TEST_F(HooksTest, ParametersAreReadOnlyAfterNeeded) {
  auto net = Make(SmallMlp());
  auto want = net->Forward(0, x_, labels_, NoHook);
  ASSERT_TRUE(want.ok());
  const auto weights = Copy(net->arena().weights());
  std::fill(net->arena().weights().begin(), net->arena().weights().end(),
            std::numeric_limits<float>::quiet_NaN());
  auto got = net->Forward(0, x_, labels_, [&](BlockIndex b) {
    const BlockInfo& block = net->arena().block(b);
    std::copy_n(weights.begin() + block.offset, block.count, net->arena().weights(b).begin());
    return absl::OkStatus();
  });
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->loss_sum, want->loss_sum);
}

TEST_F(HooksTest, GradientOfABlockIsCompleteWhenItIsReady) {
  auto net = Make(SmallMlp());
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  // NaN everywhere but in the gaps, which belong to nobody.
  for (BlockIndex b = 0; b < net->arena().block_count(); ++b) {
    for (const TensorInfo& t : net->arena().block(b).tensors) {
      for (float& g : net->arena().gradients(t)) g = std::numeric_limits<float>::quiet_NaN();
    }
  }
  ASSERT_TRUE(net->Backward([&](BlockIndex b) {
                   EXPECT_FALSE(AnyNaN(net->arena().gradients(b))) << b;
                   if (b + 1 < net->arena().block_count()) {
                     EXPECT_TRUE(AnyNaN(net->arena().gradients(b + 1))) << "not at once: " << b;
                   }
                   return absl::OkStatus();
                 })
                  .ok());
}

TEST_F(HooksTest, UpdatingABlockWhenItIsReadyDoesNotChangeEarlierGradients) {
  for (const char* model : {"mlp", "lenet", "lenet-bn"}) {
    SCOPED_TRACE(model);
    NetworkOptions options = SmallMlp();
    options.model.name = model;
    options.input = {1, 16, 16};
    auto net = Make(options);
    ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
    ASSERT_TRUE(net->Backward(NoHook).ok());
    const auto want = Copy(net->arena().gradients());
    ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
    ASSERT_TRUE(net->Backward([&](BlockIndex b) {
                     const Flat w = net->arena().weights(b);
                     std::fill(w.begin(), w.end(), 1000.0f);
                     return absl::OkStatus();
                   })
                    .ok());
    EXPECT_EQ(Copy(net->arena().gradients()), want);
  }
}

TEST_F(HooksTest, ErrorsOfHooksEndThePassUnchanged) {
  auto net = Make(SmallMlp());
  const absl::Status lost = absl::UnavailableError("rank 3 is gone");
  int calls = 0;
  auto forward = net->Forward(0, x_, labels_,
                              [&](BlockIndex) { return ++calls == 2 ? lost : absl::OkStatus(); });
  EXPECT_EQ(forward.status(), lost);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(net->Backward(NoHook).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  calls = 0;
  EXPECT_EQ(net->Backward([&](BlockIndex) {
    ++calls;
    return lost;
  }),
            lost);
  EXPECT_EQ(calls, 1);
}

TEST_F(HooksTest, BackwardNeedsItsForward) {
  auto net = Make(SmallMlp());
  EXPECT_EQ(net->Backward(NoHook).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  ASSERT_TRUE(net->Evaluate(x_, labels_).ok());
  EXPECT_EQ(net->Backward(NoHook).code(), absl::StatusCode::kFailedPrecondition)
      << "Evaluate overwrote the activations";
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  EXPECT_TRUE(net->Backward(NoHook).ok());
}

TEST_F(HooksTest, TheBatchMayMoveOnBetweenForwardAndBackward) {
  auto net = Make(SmallMlp());
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  ASSERT_TRUE(net->Backward(NoHook).ok());
  const auto want = Copy(net->arena().gradients());
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  std::fill(x_.begin(), x_.end(), 99.0f);
  ASSERT_TRUE(net->Backward(NoHook).ok());
  EXPECT_EQ(Copy(net->arena().gradients()), want);
}

TEST_F(HooksTest, WrongBatchAndLabelsAreRefused) {
  auto net = Make(SmallMlp());
  const auto code = [&](ConstFlat x, absl::Span<const int32_t> labels) {
    return net->Forward(0, x, labels, NoHook).status().code();
  };
  EXPECT_EQ(code(ConstFlat(x_).subspan(1), labels_), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(x_, absl::MakeSpan(labels_).subspan(1)), absl::StatusCode::kInvalidArgument);
  labels_[4] = 3;
  EXPECT_EQ(code(x_, labels_), absl::StatusCode::kInvalidArgument);
  labels_[4] = -1;
  EXPECT_EQ(code(x_, labels_), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(net->Backward(NoHook).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace gg
