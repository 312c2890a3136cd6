// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/batch_norm.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gmock/gmock.h"
#include "tests/unit/worker/nn/fixture.h"
#include "worker/nn/chain.h"
#include "worker/nn/layers/linear.h"

namespace gg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BatchNormLayerTest : public NetworkTest {
 protected:
  static NetworkOptions LeNetBn(int64_t batch) {
    NetworkOptions options = SmallMlp();
    options.model.name = "lenet-bn";
    options.input = {1, 16, 16};
    options.batch_size = batch;
    return options;
  }
};

TEST_F(BatchNormLayerTest, TrainingMovesTheRunningValuesAndEvaluationReadsThem) {
  auto net = Make(LeNetBn(6));
  const auto start = Copy(net->arena().buffers());
  auto before = net->Evaluate(x_, labels_);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(Copy(net->arena().buffers()), start);
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  EXPECT_NE(Copy(net->arena().buffers()), start);
  EXPECT_NE(net->Evaluate(x_, labels_)->loss_sum, before->loss_sum);
  // Another replica's values, as the closing average writes them.
  std::copy(start.begin(), start.end(), net->arena().buffers().begin());
  EXPECT_EQ(net->Evaluate(x_, labels_)->loss_sum, before->loss_sum);
}

TEST_F(BatchNormLayerTest, EvaluationConvergesToTheTrainingPassOfTheSameBatch) {
  auto net = Make(LeNetBn(64));
  double train = 0;
  for (int step = 0; step < 200; ++step) {
    auto loss = net->Forward(0, x_, labels_, NoHook);
    ASSERT_TRUE(loss.ok()) << loss.status();
    train = loss->loss_sum;
  }
  // What is left: the running variance is the unbiased one, 64/63 of the batch's where it is largest.
  EXPECT_NEAR(net->Evaluate(x_, labels_)->loss_sum, train, 0.01 * train);
}

TEST_F(BatchNormLayerTest, EvaluationOfASampleDoesNotDependOnTheOthers) {
  auto net = Make(LeNetBn(6));
  ASSERT_TRUE(net->Forward(0, x_, labels_, NoHook).ok());
  const size_t per = x_.size() / labels_.size();
  double one_by_one = 0;
  for (size_t i = 0; i < labels_.size(); ++i) {
    one_by_one += net->Evaluate(ConstFlat(x_).subspan(i * per, per),
                                absl::MakeConstSpan(labels_).subspan(i, 1))
                      ->loss_sum;
  }
  EXPECT_NEAR(net->Evaluate(x_, labels_)->loss_sum, one_by_one, 1e-6);
}

// The gradient of the joined parameters is complete when their block is ready, and none is ready twice.
TEST_F(BatchNormLayerTest, ABlockIsReadyOnceAndWithTheGradientsOfBothLayers) {
  auto net = Make(LeNetBn(6));
  std::vector<BlockIndex> needed, ready;
  ASSERT_TRUE(net->Forward(0, x_, labels_,
                           [&](BlockIndex b) {
                             needed.push_back(b);
                             return absl::OkStatus();
                           })
                  .ok());
  std::fill(net->arena().gradients().begin(), net->arena().gradients().end(),
            std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(net->Backward([&](BlockIndex b) {
                   ready.push_back(b);
                   for (const TensorInfo& t : net->arena().block(b).tensors) {
                     for (const float g : net->arena().gradients(t)) EXPECT_EQ(g, g) << t.name;
                   }
                   return absl::OkStatus();
                 })
                  .ok());
  EXPECT_THAT(needed, ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(ready, ElementsAre(0, 1, 2, 3));
}

TEST_F(BatchNormLayerTest, NeedsALayerBelowWhoseBlockItJoins) {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(MakeBatchNormLayer("bn1"));
  layers.push_back(MakeLinearLayer("fc1", 3));
  const auto status = MakeChain(*device_, SmallMlp(), std::move(layers)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), HasSubstr("bn1: there is no layer with parameters below it"));
}

}  // namespace
}  // namespace gg
