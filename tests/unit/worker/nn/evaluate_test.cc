// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tests/unit/worker/nn/fixture.h"

namespace gg {
namespace {

class EvaluateTest : public NetworkTest {};

TEST_F(EvaluateTest, AnyNumberOfSamplesGivesTheSumOverAllOfThem) {
  NetworkOptions options = SmallMlp();
  auto net = Make(options);
  const size_t per = static_cast<size_t>(options.input.floats());
  for (const size_t samples : {1u, 5u, 6u, 7u, 17u}) {
    const auto x = RandomImages(samples * per);
    const auto labels = RandomLabels(samples, options.classes);
    auto all = net->Evaluate(x, labels);
    ASSERT_TRUE(all.ok()) << all.status();
    LossResult one_by_one;
    for (size_t i = 0; i < samples; ++i) {
      auto one = net->Evaluate(ConstFlat(x).subspan(i * per, per),
                               absl::MakeConstSpan(labels).subspan(i, 1));
      ASSERT_TRUE(one.ok()) << one.status();
      one_by_one.loss_sum += one->loss_sum;
      one_by_one.correct += one->correct;
    }
    EXPECT_NEAR(all->loss_sum, one_by_one.loss_sum, 1e-9) << samples;
    EXPECT_EQ(all->correct, one_by_one.correct) << samples;
  }
}

TEST_F(EvaluateTest, AgreesWithTheTrainingPassAndLeavesGradientsAlone) {
  auto net = Make(SmallMlp());
  auto train = net->Forward(0, x_, labels_, NoHook);
  ASSERT_TRUE(train.ok());
  ASSERT_TRUE(net->Backward(NoHook).ok());
  const auto gradients = Copy(net->arena().gradients());
  auto eval = net->Evaluate(x_, labels_);
  ASSERT_TRUE(eval.ok());
  EXPECT_EQ(eval->loss_sum, train->loss_sum);
  EXPECT_EQ(eval->correct, train->correct);
  EXPECT_EQ(Copy(net->arena().gradients()), gradients);
}

TEST_F(EvaluateTest, NoDropoutAtInference) {
  NetworkOptions options = SmallMlp();
  auto plain = Make(options);
  options.model.dropout = 0.5;
  auto dropping = Make(options);
  EXPECT_EQ(dropping->Evaluate(x_, labels_)->loss_sum, plain->Evaluate(x_, labels_)->loss_sum);
  EXPECT_NE(dropping->Forward(0, x_, labels_, NoHook)->loss_sum,
            plain->Forward(0, x_, labels_, NoHook)->loss_sum);
}

TEST_F(EvaluateTest, RestOfAnEarlierBatchDoesNotLeakIntoAShortSlice) {
  auto net = Make(SmallMlp());
  const size_t per = x_.size() / labels_.size();
  const auto want =
      net->Evaluate(ConstFlat(x_).subspan(0, 2 * per), absl::MakeConstSpan(labels_).subspan(0, 2));
  auto poison = x_;
  for (float& v : poison) v = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(net->Forward(0, poison, labels_, NoHook).ok());
  const auto got =
      net->Evaluate(ConstFlat(x_).subspan(0, 2 * per), absl::MakeConstSpan(labels_).subspan(0, 2));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->loss_sum, want->loss_sum);
}

TEST_F(EvaluateTest, NothingToEvaluateIsZeroAndWrongSizesAreRefused) {
  auto net = Make(SmallMlp());
  auto nothing = net->Evaluate({}, {});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_EQ(nothing->loss_sum, 0);
  EXPECT_EQ(net->Evaluate(ConstFlat(x_).subspan(1), labels_).status().code(),
            absl::StatusCode::kInvalidArgument);
  labels_[0] = 3;
  EXPECT_EQ(net->Evaluate(x_, labels_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
