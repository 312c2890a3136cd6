// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <utility>

#include "gmock/gmock.h"
#include "tests/conformance/device/devices.h"
#include "tests/conformance/device/oracle.h"

namespace gg {
namespace {

using testing::HasSubstr;

constexpr double kTolerance = 2e-6;

// Memory for one operation, poisoned where it is written.
struct Tensors {
  explicit Tensors(const BatchNormDesc& d, float offset = 0, float spread = 1)
      : x(Random(d.batch * d.channels * d.spatial, "x")),
        dy(Random(x.size(), "dy")),
        gamma(Random(d.channels, "gamma")),
        beta(Random(d.channels, "beta")),
        running_mean(Random(d.channels, "mean")),
        running_variance(Random(d.channels, "variance")),
        y(x.size(), 7.0f),
        dx(x.size(), 7.0f),
        dgamma(d.channels, 7.0f),
        dbeta(d.channels, 7.0f) {
    for (float& v : x) v = v * spread + offset;
    for (float& v : running_variance) v = std::abs(v) + 0.1f;
  }
  std::vector<float> x, dy, gamma, beta, running_mean, running_variance, y, dx, dgamma, dbeta;
};

class BatchNormTest : public DeviceTest {
 protected:
  std::unique_ptr<BatchNorm> Make(const BatchNormDesc& d) {
    auto op = device().MakeBatchNorm(d);
    EXPECT_TRUE(op.ok()) << op.status();
    return *std::move(op);
  }
  absl::Status Forward(BatchNorm& op, Tensors& t) {
    return op.Forward(stream(), t.x, t.gamma, t.beta, absl::MakeSpan(t.running_mean),
                      absl::MakeSpan(t.running_variance), absl::MakeSpan(t.y));
  }
  absl::Status BackwardParams(BatchNorm& op, Tensors& t) {
    return op.BackwardParams(stream(), t.x, t.dy, absl::MakeSpan(t.dgamma),
                             absl::MakeSpan(t.dbeta));
  }
  absl::Status BackwardData(BatchNorm& op, Tensors& t) {
    return op.BackwardData(stream(), t.x, t.dy, t.gamma, absl::MakeSpan(t.dx));
  }

  // Two batches, so that nothing of the first is left in the second.
  void ExpectDefinition(const BatchNormDesc& d, Tensors t, double tolerance) {
    SCOPED_TRACE(testing::Message() << d.batch << "x" << d.channels << "x" << d.spatial);
    auto op = Make(d);
    for (int run = 0; run < 2; ++run) {
      const auto want =
          oracle::BatchNorm(d, t.x, t.gamma, t.beta, t.running_mean, t.running_variance, t.dy);
      ASSERT_TRUE(Forward(*op, t).ok());
      ASSERT_TRUE(BackwardParams(*op, t).ok());
      ASSERT_TRUE(BackwardData(*op, t).ok());
      ExpectClose(t.y, want.layer.y, tolerance, "y");
      ExpectClose(t.running_mean, want.running_mean, tolerance, "running mean");
      ExpectClose(t.running_variance, want.running_variance, tolerance, "running variance");
      ExpectClose(t.dgamma, want.layer.dw, tolerance, "dgamma");
      ExpectClose(t.dbeta, want.layer.db, tolerance, "dbeta");
      ExpectClose(t.dx, want.layer.dx, tolerance, "dx");
      for (float& v : t.x) v = 0.5f * v + 0.25f;
    }
  }
};
GG_FOR_ALL_DEVICES(BatchNormTest);

TEST_P(BatchNormTest, MatchesTheDefinition) {
  const BatchNormDesc descs[] = {{2, 1, 1},    {1, 1, 2},  {1, 3, 49},   {3, 5, 7},    {2, 17, 1},
                                 {64, 500, 1}, {5, 33, 1}, {7, 2, 16},   {4, 20, 576}, {9, 50, 64},
                                 {2, 3, 17},   {64, 1, 1}, {16, 64, 900}};
  for (const BatchNormDesc& d : descs) ExpectDefinition(d, Tensors(d), kTolerance);
}

TEST_P(BatchNormTest, EpsilonAndMomentumAreTheDescriptions) {
  for (const float momentum : {0.0f, 0.3f, 1.0f}) {
    const BatchNormDesc d = {
        .batch = 4, .channels = 3, .spatial = 5, .epsilon = 0.5f, .momentum = momentum};
    ExpectDefinition(d, Tensors(d), kTolerance);
  }
}

// A mean of ten thousand deviations: sums and differences in single precision would lose all.
TEST_P(BatchNormTest, MeanFarFromZeroLosesNothing) {
  for (const BatchNormDesc& d : {BatchNormDesc{64, 3, 576}, BatchNormDesc{64, 30, 1}}) {
    ExpectDefinition(d, Tensors(d, 1e4f), 1e-5);
    ExpectDefinition(d, Tensors(d, -3e6f, 300.0f), 1e-5);
  }
}

TEST_P(BatchNormTest, EqualValuesGiveBetaAndNoNan) {
  for (const int64_t spatial : {1, 20}) {
    const BatchNormDesc d = {.batch = 6, .channels = 4, .spatial = spatial};
    Tensors t(d, 123.4f, 0);
    ExpectDefinition(d, t, kTolerance);
    auto op = Make(d);
    ASSERT_TRUE(Forward(*op, t).ok());
    for (size_t i = 0; i < t.y.size(); ++i)
      ASSERT_EQ(t.y[i], t.beta[i / static_cast<size_t>(spatial) % t.beta.size()]) << i;
  }
}

TEST_P(BatchNormTest, InferenceUsesWhatItIsGivenAndChangesNothing) {
  for (const BatchNormDesc& d :
       {BatchNormDesc{3, 5, 7}, BatchNormDesc{3, 5, 1}, BatchNormDesc{1, 4, 1}}) {
    Tensors t(d, 1e4f);
    for (float& m : t.running_mean) m += 1e4f;
    const auto mean = t.running_mean, variance = t.running_variance;
    auto op = Make(d);
    ASSERT_TRUE(op->Infer(stream(), t.x, t.gamma, t.beta, t.running_mean, t.running_variance,
                          absl::MakeSpan(t.y))
                    .ok());
    std::vector<double> want(t.x.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const size_t c = i / static_cast<size_t>(d.spatial) % mean.size();
      want[i] = (static_cast<double>(t.x[i]) - mean[c]) /
                    std::sqrt(static_cast<double>(variance[c]) + d.epsilon) * t.gamma[c] +
                t.beta[c];
    }
    ExpectClose(t.y, want, kTolerance, "y");
    EXPECT_EQ(t.running_mean, mean);
    EXPECT_EQ(t.running_variance, variance);
  }
}

TEST_P(BatchNormTest, InputGradientMayReplaceTheOutputGradient) {
  for (const BatchNormDesc& d : {BatchNormDesc{3, 5, 7}, BatchNormDesc{3, 5, 1}}) {
    Tensors t(d);
    auto op = Make(d);
    ASSERT_TRUE(Forward(*op, t).ok());
    ASSERT_TRUE(BackwardParams(*op, t).ok());
    ASSERT_TRUE(BackwardData(*op, t).ok());
    ASSERT_TRUE(op->BackwardData(stream(), t.x, t.dy, t.gamma, absl::MakeSpan(t.dy)).ok());
    EXPECT_EQ(t.dy, t.dx);
  }
}

TEST_P(BatchNormTest, OneValuePerChannelHasNoVarianceToTrainWith) {
  const BatchNormDesc d = {.batch = 1, .channels = 3, .spatial = 1};
  Tensors t(d);
  const auto status = Forward(*Make(d), t);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), HasSubstr("no variance"));
}

TEST_P(BatchNormTest, NanOfOneChannelShowsInThatChannelOnly) {
  for (const int64_t spatial : {1, 20}) {
    const BatchNormDesc d = {.batch = 4, .channels = 3, .spatial = spatial};
    Tensors t(d);
    t.x[static_cast<size_t>((1 * 3 + 1) * spatial)] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_TRUE(Forward(*Make(d), t).ok());
    for (size_t i = 0; i < t.y.size(); ++i)
      ASSERT_EQ(std::isnan(t.y[i]), i / static_cast<size_t>(spatial) % 3 == 1) << i;
    EXPECT_TRUE(std::isnan(t.running_mean[1]) && std::isnan(t.running_variance[1]));
    EXPECT_FALSE(std::isnan(t.running_mean[0]) || std::isnan(t.running_variance[2]));
  }
}

TEST_P(BatchNormTest, CallsOutOfOrderAreRefused) {
  const BatchNormDesc d = {.batch = 4, .channels = 3, .spatial = 5};
  Tensors t(d);
  auto op = Make(d);
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(BackwardParams(*op, t).code(), kRefused);
  ASSERT_TRUE(Forward(*op, t).ok());
  EXPECT_EQ(BackwardData(*op, t).code(), kRefused);
  ASSERT_TRUE(BackwardParams(*op, t).ok());
  ASSERT_TRUE(op->Infer(stream(), t.x, t.gamma, t.beta, t.running_mean, t.running_variance,
                        absl::MakeSpan(t.y))
                  .ok());
  EXPECT_EQ(BackwardData(*op, t).code(), kRefused) << "inference has replaced the statistics";
}

TEST_P(BatchNormTest, ThreadsDoNotChangeABit) {
  const BatchNormDesc descs[] = {{32, 20, 576}, {64, 2000, 1}};
  for (const BatchNormDesc& d : descs) {
    Tensors one(d), three(d);
    auto other = MakeDevice(GetParam(), {.threads = 3});
    ASSERT_TRUE(other.ok()) << other.status();
    auto op = Make(d);
    auto threaded = (*other)->MakeBatchNorm(d);
    ASSERT_TRUE(threaded.ok()) << threaded.status();
    for (auto [norm, t] : {std::pair(op.get(), &one), std::pair(threaded->get(), &three)}) {
      ASSERT_TRUE(Forward(*norm, *t).ok());
      ASSERT_TRUE(BackwardParams(*norm, *t).ok());
      ASSERT_TRUE(BackwardData(*norm, *t).ok());
    }
    EXPECT_EQ(one.y, three.y);
    EXPECT_EQ(one.dx, three.dx);
    EXPECT_EQ(one.dgamma, three.dgamma);
    EXPECT_EQ(one.running_variance, three.running_variance);
  }
}

}  // namespace
}  // namespace gg
