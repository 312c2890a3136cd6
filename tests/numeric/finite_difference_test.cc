// SPDX-License-Identifier: Apache-2.0
//
// Every layer of the reference device: the analytic gradient of L = sum(dy y) against central
// differences, for each element of each input.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/numeric/device_test.h"
#include "tests/numeric/golden.h"

namespace gg {
namespace {

class FiniteDifferenceTest : public NumericTest {
 protected:
  // `loss` reads `values`; each is moved by `delta` to both sides.
  static void ExpectGradient(const char* what, std::vector<float>& values, ConstFlat gradient,
                             float delta, double tolerance, const std::function<double()>& loss) {
    ASSERT_EQ(values.size(), gradient.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const float value = values[i];
      const float up = value + delta, down = value - delta;
      values[i] = up;
      const double above = loss();
      values[i] = down;
      const double below = loss();
      values[i] = value;
      const double slope = (above - below) / (static_cast<double>(up) - down);
      ASSERT_NEAR(gradient[i], slope, tolerance * std::max(1.0, std::abs(slope)))
          << what << "[" << i << "]";
    }
  }

  static double Dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }

  // Linear in each operand, so that a large step is exact up to rounding.
  template <typename Op>
  void ExpectLinearLayer(Op& op, std::vector<float> x, std::vector<float> w, std::vector<float> b,
                         size_t out) {
    constexpr float kDelta = 0.5f;
    constexpr double kTolerance = 2e-5;
    const auto dy = Filled("dy", out);
    std::vector<float> y(out), dx(x.size()), dw(w.size()), db(b.size());
    ASSERT_TRUE(op.BackwardData(*stream_, dy, w, absl::MakeSpan(dx)).ok());
    ASSERT_TRUE(op.BackwardParams(*stream_, x, dy, absl::MakeSpan(dw), absl::MakeSpan(db)).ok());
    const auto loss = [&] {
      EXPECT_TRUE(op.Forward(*stream_, x, w, b, absl::MakeSpan(y)).ok());
      return Dot(dy, y);
    };
    ExpectGradient("x", x, dx, kDelta, kTolerance, loss);
    ExpectGradient("w", w, dw, kDelta, kTolerance, loss);
    ExpectGradient("b", b, db, kDelta, kTolerance, loss);
  }

  // Linear in gamma and beta, curved in x.
  void ExpectBatchNorm(const BatchNormDesc& d) {
    auto op = device_->MakeBatchNorm(d);
    ASSERT_TRUE(op.ok()) << op.status();
    auto x = Filled("x", static_cast<size_t>(d.batch * d.channels * d.spatial), 2.0f);
    auto gamma = Filled("gamma", static_cast<size_t>(d.channels));
    auto beta = Filled("beta", gamma.size());
    const auto dy = Filled("dy", x.size());
    std::vector<float> y(x.size()), dx(x.size()), dgamma(gamma.size()), dbeta(gamma.size()),
        mean(gamma.size()), variance(gamma.size());
    const auto loss = [&] {
      EXPECT_TRUE((*op)
                      ->Forward(*stream_, x, gamma, beta, absl::MakeSpan(mean),
                                absl::MakeSpan(variance), absl::MakeSpan(y))
                      .ok());
      return Dot(dy, y);
    };
    loss();
    ASSERT_TRUE(
        (*op)->BackwardParams(*stream_, x, dy, absl::MakeSpan(dgamma), absl::MakeSpan(dbeta)).ok());
    ASSERT_TRUE((*op)->BackwardData(*stream_, x, dy, gamma, absl::MakeSpan(dx)).ok());
    ExpectGradient("x", x, dx, 0.02f, 1e-3, loss);
    ExpectGradient("gamma", gamma, dgamma, 0.5f, 2e-5, loss);
    ExpectGradient("beta", beta, dbeta, 0.5f, 2e-5, loss);
  }

  void ExpectPooling(const Pool2dDesc& d) {
    auto op = device_->MakePool2d(d);
    ASSERT_TRUE(op.ok()) << op.status();
    // Values that are all at least 1 apart, in a scrambled order: no maximum changes hands.
    std::vector<float> x(static_cast<size_t>(d.batch * d.channels * d.in_height * d.in_width));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 10007);
    for (size_t i = 0; i < x.size(); ++i) x[i] -= 5000.0f;
    const auto dy =
        Filled("dy", static_cast<size_t>(d.batch * d.channels * d.out_height() * d.out_width()));
    std::vector<float> y(dy.size()), dx(x.size());
    const auto loss = [&] {
      EXPECT_TRUE((*op)->Forward(*stream_, x, absl::MakeSpan(y)).ok());
      return Dot(dy, y);
    };
    loss();
    ASSERT_TRUE((*op)->Backward(*stream_, dy, absl::MakeSpan(dx)).ok());
    ExpectGradient("x", x, dx, 0.25f, 2e-3, loss);
  }
};
INSTANTIATE_TEST_SUITE_P(Reference, FiniteDifferenceTest, testing::Values("reference"));

TEST_P(FiniteDifferenceTest, Convolution) {
  const Conv2dDesc descs[] = {{.batch = 2,
                               .in_channels = 3,
                               .in_height = 7,
                               .in_width = 6,
                               .out_channels = 4,
                               .kernel_height = 3,
                               .kernel_width = 2,
                               .stride_height = 2,
                               .stride_width = 1,
                               .pad_height = 1,
                               .pad_width = 2},
                              {.batch = 1,
                               .in_channels = 1,
                               .in_height = 6,
                               .in_width = 6,
                               .out_channels = 2,
                               .kernel_height = 5,
                               .kernel_width = 5}};
  for (const Conv2dDesc& d : descs) {
    auto op = device_->MakeConv2d(d);
    ASSERT_TRUE(op.ok()) << op.status();
    ExpectLinearLayer(
        **op, Filled("x", d.batch * d.in_channels * d.in_height * d.in_width),
        Filled("w", d.out_channels * d.in_channels * d.kernel_height * d.kernel_width),
        Filled("b", d.out_channels), d.batch * d.out_channels * d.out_height() * d.out_width());
  }
}

TEST_P(FiniteDifferenceTest, Linear) {
  auto op = device_->MakeLinear({.batch = 3, .in_features = 11, .out_features = 5});
  ASSERT_TRUE(op.ok()) << op.status();
  ExpectLinearLayer(**op, Filled("x", 33), Filled("w", 55), Filled("b", 5), 15);
}

TEST_P(FiniteDifferenceTest, Pooling) {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    for (const bool ceil : {false, true}) {
      for (const int64_t pad : {0, 1}) {
        ExpectPooling({.kind = kind,
                       .batch = 2,
                       .channels = 2,
                       .in_height = 8,
                       .in_width = 7,
                       .kernel_height = 3,
                       .kernel_width = 2,
                       .stride_height = 2,
                       .stride_width = 2,
                       .pad_height = pad,
                       .pad_width = pad,
                       .ceil_mode = ceil});
      }
    }
  }
}

TEST_P(FiniteDifferenceTest, BatchNorm) {
  ExpectBatchNorm({.batch = 3, .channels = 4, .spatial = 21});
  ExpectBatchNorm({.batch = 9, .channels = 5, .spatial = 1});
}

TEST_P(FiniteDifferenceTest, Relu) {
  auto x = Filled("x", 64);
  for (float& v : x) v += v < 0 ? -0.1f : 0.1f;  // away from the kink
  const auto dy = Filled("dy", 64);
  std::vector<float> y(64), dx(64);
  const auto loss = [&] {
    EXPECT_TRUE(device_->Relu(*stream_, x, absl::MakeSpan(y)).ok());
    return Dot(dy, y);
  };
  loss();
  ASSERT_TRUE(device_->ReluBackward(*stream_, y, dy, absl::MakeSpan(dx)).ok());
  ExpectGradient("x", x, dx, 0.05f, 1e-5, loss);
}

TEST_P(FiniteDifferenceTest, SoftmaxCrossEntropy) {
  auto logits = Filled("x", 20, 2.0f);
  const std::vector<int32_t> labels = {0, 4, 2, 2};
  std::vector<float> gradient(20);
  const auto loss = [&] {
    return device_->SoftmaxCrossEntropy(*stream_, logits, labels, 5, 1.0f, Flat())->loss_sum;
  };
  ASSERT_TRUE(
      device_->SoftmaxCrossEntropy(*stream_, logits, labels, 5, 1.0f, absl::MakeSpan(gradient))
          .ok());
  ExpectGradient("logits", logits, gradient, 0.01f, 1e-4, loss);
}

}  // namespace
}  // namespace gg
