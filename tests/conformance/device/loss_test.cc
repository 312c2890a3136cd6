// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tests/conformance/device/devices.h"

namespace gg {
namespace {

class LossTest : public DeviceTest {};
GG_FOR_ALL_DEVICES(LossTest);

TEST_P(LossTest, MatchesTheDefinition) {
  constexpr int64_t kClasses = 7;
  constexpr float kScale = 0.25f;
  const std::vector<int32_t> labels = {0, 6, 3, 3};
  const auto logits = Random(labels.size() * kClasses, "logits");
  std::vector<float> gradient(logits.size(), 7.0f);
  std::vector<double> want(logits.size());
  double loss = 0;
  for (size_t n = 0; n < labels.size(); ++n) {
    double sum = 0;
    for (int c = 0; c < kClasses; ++c)
      sum += std::exp(static_cast<double>(logits[n * kClasses + c]));
    for (int c = 0; c < kClasses; ++c) {
      const double p = std::exp(static_cast<double>(logits[n * kClasses + c])) / sum;
      want[n * kClasses + c] = kScale * (p - (c == labels[n] ? 1 : 0));
      if (c == labels[n]) loss -= std::log(p);
    }
  }
  auto got = device().SoftmaxCrossEntropy(stream(), logits, labels, kClasses, kScale,
                                          absl::MakeSpan(gradient));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_NEAR(got->loss_sum, loss, 1e-5);
  ExpectClose(gradient, want, 1e-6, "dlogits");
  auto alone = device().SoftmaxCrossEntropy(stream(), logits, labels, kClasses, kScale, Flat());
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->loss_sum, got->loss_sum);
}

TEST_P(LossTest, FirstOfEqualMaximaCounts) {
  const std::vector<float> logits = {1, 1, 0, 1, 1, 0};
  const std::vector<int32_t> labels = {0, 1};
  auto got = device().SoftmaxCrossEntropy(stream(), logits, labels, 3, 1.0f, Flat());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->correct, 1);
}

TEST_P(LossTest, HugeLogitsStayFinite) {
  const std::vector<float> logits = {3e38f, -3e38f, 0.0f};
  const std::vector<int32_t> labels = {0};
  std::vector<float> gradient(3);
  auto got =
      device().SoftmaxCrossEntropy(stream(), logits, labels, 3, 1.0f, absl::MakeSpan(gradient));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_NEAR(got->loss_sum, 0, 1e-6);
  for (const float g : gradient) EXPECT_TRUE(std::isfinite(g));
}

TEST_P(LossTest, NaNShowsInTheLossAndIsNeverCorrect) {
  const std::vector<float> logits = {std::numeric_limits<float>::quiet_NaN(), 0.0f};
  const std::vector<int32_t> labels = {0};
  auto got = device().SoftmaxCrossEntropy(stream(), logits, labels, 2, 1.0f, Flat());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(std::isnan(got->loss_sum));
  EXPECT_EQ(got->correct, 0);
}

TEST_P(LossTest, LabelOutsideTheClassesIsNamedAndNothingIsWritten) {
  const std::vector<float> logits(6, 0.0f);
  for (const int32_t bad :
       {-1, 3, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    const std::vector<int32_t> labels = {0, bad};
    std::vector<float> gradient(6, 7.0f);
    auto got =
        device().SoftmaxCrossEntropy(stream(), logits, labels, 3, 1.0f, absl::MakeSpan(gradient));
    ASSERT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(got.status().message().find("sample 1"), absl::string_view::npos) << got.status();
    EXPECT_EQ(gradient, std::vector<float>(6, 7.0f));
  }
}

}  // namespace
}  // namespace gg
