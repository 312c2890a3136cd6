// SPDX-License-Identifier: Apache-2.0
#include "tests/numeric/device_test.h"
#include "tests/numeric/golden.h"

namespace gg {
namespace {

// fp32 against double; sums of at most some hundred terms.
constexpr double kTolerance = 5e-6;

class LayerGoldensTest : public NumericTest {
 protected:
  void ExpectConvolution(const std::string& name, const Conv2dDesc& d) {
    const Golden golden(name);
    auto op = device_->MakeConv2d(d);
    ASSERT_TRUE(op.ok()) << op.status();
    const size_t out =
        static_cast<size_t>(d.batch * d.out_channels * d.out_height() * d.out_width());
    const auto x = Filled("x", d.batch * d.in_channels * d.in_height * d.in_width);
    const auto w = Filled("w", d.out_channels * d.in_channels * d.kernel_height * d.kernel_width);
    ExpectParametric(golden, **op, x, w, Filled("b", d.out_channels), out);
  }

  template <typename Op>
  void ExpectParametric(const Golden& golden, Op& op, const std::vector<float>& x,
                        const std::vector<float>& w, const std::vector<float>& b, size_t out) {
    const auto dy = Filled("dy", out);
    std::vector<float> y(out), dx(x.size()), dw(w.size()), db(b.size());
    ASSERT_TRUE(op.Forward(*stream_, x, w, b, absl::MakeSpan(y)).ok());
    ASSERT_TRUE(op.BackwardData(*stream_, dy, w, absl::MakeSpan(dx)).ok());
    ASSERT_TRUE(op.BackwardParams(*stream_, x, dy, absl::MakeSpan(dw), absl::MakeSpan(db)).ok());
    golden.Expect("y", y, kTolerance);
    golden.Expect("dx", dx, kTolerance);
    golden.Expect("dw", dw, kTolerance);
    golden.Expect("db", db, kTolerance);
  }

  void ExpectBatchNorm(const std::string& name, const BatchNormDesc& d) {
    const Golden golden(name);
    auto op = device_->MakeBatchNorm(d);
    ASSERT_TRUE(op.ok()) << op.status();
    const auto channels = static_cast<size_t>(d.channels);
    const auto x = Filled("x", static_cast<size_t>(d.batch * d.spatial) * channels, 2.0f);
    const auto gamma = Filled("w", channels), beta = Filled("b", channels);
    const auto dy = Filled("dy", x.size());
    std::vector<float> mean(channels), variance(channels), dgamma(channels), dbeta(channels);
    std::vector<float> y(x.size()), dx(x.size());
    FillRunning("x", absl::MakeSpan(mean), absl::MakeSpan(variance));
    ASSERT_TRUE((*op)
                    ->Forward(*stream_, x, gamma, beta, absl::MakeSpan(mean),
                              absl::MakeSpan(variance), absl::MakeSpan(y))
                    .ok());
    ASSERT_TRUE(
        (*op)->BackwardParams(*stream_, x, dy, absl::MakeSpan(dgamma), absl::MakeSpan(dbeta)).ok());
    ASSERT_TRUE((*op)->BackwardData(*stream_, x, dy, gamma, absl::MakeSpan(dx)).ok());
    golden.Expect("y", y, kTolerance);
    golden.Expect("dx", dx, kTolerance);
    golden.Expect("dw", dgamma, kTolerance);
    golden.Expect("db", dbeta, kTolerance);
    golden.Expect("running_mean", mean, kTolerance);
    golden.Expect("running_variance", variance, kTolerance);
    ASSERT_TRUE((*op)->Infer(*stream_, x, gamma, beta, mean, variance, absl::MakeSpan(y)).ok());
    golden.Expect("inference", y, kTolerance);
  }

  void ExpectPooling(const std::string& name, const Pool2dDesc& d) {
    const Golden golden(name);
    auto op = device_->MakePool2d(d);
    ASSERT_TRUE(op.ok()) << op.status();
    const auto x = Filled("x", d.batch * d.channels * d.in_height * d.in_width);
    const auto dy = Filled("dy", d.batch * d.channels * d.out_height() * d.out_width());
    std::vector<float> y(dy.size()), dx(x.size());
    ASSERT_TRUE((*op)->Forward(*stream_, x, absl::MakeSpan(y)).ok());
    ASSERT_TRUE((*op)->Backward(*stream_, dy, absl::MakeSpan(dx)).ok());
    golden.Expect("y", y, kTolerance);
    golden.Expect("dx", dx, kTolerance);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, LayerGoldensTest, testing::Values("reference", "onednn"));

Pool2dDesc Pool(PoolKind kind, int64_t channels, int64_t height, int64_t width, int64_t kernel,
                int64_t pad, bool ceil) {
  return {.kind = kind,
          .batch = 2,
          .channels = channels,
          .in_height = height,
          .in_width = width,
          .kernel_height = kernel,
          .kernel_width = kernel,
          .stride_height = 2,
          .stride_width = 2,
          .pad_height = pad,
          .pad_width = pad,
          .ceil_mode = ceil};
}

TEST_P(LayerGoldensTest, Convolution) {
  ExpectConvolution("conv_stride_pad", {.batch = 3,
                                        .in_channels = 4,
                                        .in_height = 9,
                                        .in_width = 7,
                                        .out_channels = 5,
                                        .kernel_height = 3,
                                        .kernel_width = 2,
                                        .stride_height = 2,
                                        .stride_width = 1,
                                        .pad_height = 1,
                                        .pad_width = 2});
  ExpectConvolution("conv_one_channel", {.batch = 2,
                                         .in_channels = 1,
                                         .in_height = 12,
                                         .in_width = 12,
                                         .out_channels = 20,
                                         .kernel_height = 5,
                                         .kernel_width = 5});
}

TEST_P(LayerGoldensTest, Linear) {
  auto op = device_->MakeLinear({.batch = 6, .in_features = 37, .out_features = 11});
  ASSERT_TRUE(op.ok()) << op.status();
  ExpectParametric(Golden("linear"), **op, Filled("x", 6 * 37), Filled("w", 11 * 37),
                   Filled("b", 11), 6 * 11);
}

TEST_P(LayerGoldensTest, Pooling) {
  ExpectPooling("max_pool", Pool(PoolKind::kMax, 5, 8, 9, 2, 0, false));
  ExpectPooling("max_pool_ceil", Pool(PoolKind::kMax, 3, 10, 8, 3, 0, true));
  ExpectPooling("max_pool_pad", Pool(PoolKind::kMax, 3, 9, 9, 3, 1, false));
  ExpectPooling("average_pool_ceil", Pool(PoolKind::kAverage, 3, 10, 8, 3, 0, true));
  ExpectPooling("average_pool_pad", Pool(PoolKind::kAverage, 3, 9, 9, 3, 1, false));
}

TEST_P(LayerGoldensTest, BatchNorm) {
  ExpectBatchNorm("batch_norm_images", {.batch = 4, .channels = 5, .spatial = 42});
  ExpectBatchNorm("batch_norm_vectors", {.batch = 9, .channels = 11, .spatial = 1});
}

TEST_P(LayerGoldensTest, Relu) {
  const Golden golden("relu");
  const auto x = Filled("x", 300), dy = Filled("dy", 300);
  std::vector<float> y(300), dx(300);
  ASSERT_TRUE(device_->Relu(*stream_, x, absl::MakeSpan(y)).ok());
  ASSERT_TRUE(device_->ReluBackward(*stream_, y, dy, absl::MakeSpan(dx)).ok());
  golden.Expect("y", y, kTolerance);
  golden.Expect("dx", dx, kTolerance);
}

TEST_P(LayerGoldensTest, SoftmaxCrossEntropy) {
  const Golden golden("softmax_cross_entropy");
  const auto logits = Filled("x", 9 * 7, 4.0f);
  std::vector<int32_t> labels;
  for (int i = 0; i < 9; ++i) labels.push_back(i * 3 % 7);
  std::vector<float> gradient(logits.size());
  auto loss =
      device_->SoftmaxCrossEntropy(*stream_, logits, labels, 7, 1.0f / 9, absl::MakeSpan(gradient));
  ASSERT_TRUE(loss.ok()) << loss.status();
  EXPECT_NEAR(loss->loss_sum, golden.scalar("loss"), 1e-5);
  golden.Expect("dx", gradient, kTolerance);
}

}  // namespace
}  // namespace gg
