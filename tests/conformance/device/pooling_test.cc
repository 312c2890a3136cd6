// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/conformance/device/devices.h"
#include "tests/conformance/device/oracle.h"

namespace gg {
namespace {

constexpr double kTolerance = 1e-6;

Pool2dDesc Pool(int64_t batch, int64_t channels, int64_t height, int64_t width, int64_t kernel,
                int64_t stride, int64_t pad, bool ceil) {
  return {.kind = PoolKind::kMax,
          .batch = batch,
          .channels = channels,
          .in_height = height,
          .in_width = width,
          .kernel_height = kernel,
          .kernel_width = kernel,
          .stride_height = stride,
          .stride_width = stride,
          .pad_height = pad,
          .pad_width = pad,
          .ceil_mode = ceil};
}

std::vector<Pool2dDesc> Cases() {
  std::vector<Pool2dDesc> cases = {
      Pool(2, 20, 24, 24, 2, 2, 0, false), Pool(3, 50, 8, 8, 2, 2, 0, false),
      Pool(2, 32, 32, 32, 3, 2, 0, true),  Pool(1, 1, 1, 1, 1, 1, 0, false),
      Pool(1, 3, 7, 5, 2, 2, 0, false),    Pool(1, 3, 7, 5, 2, 2, 0, true),
      Pool(2, 5, 9, 9, 3, 2, 1, false),    Pool(2, 5, 8, 8, 3, 2, 1, true),
      Pool(1, 2, 6, 6, 3, 1, 1, false),    Pool(1, 2, 5, 5, 5, 5, 0, false),
      Pool(1, 2, 5, 5, 2, 3, 1, true),     Pool(64, 1, 4, 4, 2, 2, 0, false)};
  cases.push_back({.kind = PoolKind::kMax,
                   .batch = 2,
                   .channels = 3,
                   .in_height = 10,
                   .in_width = 7,
                   .kernel_height = 3,
                   .kernel_width = 2,
                   .stride_height = 2,
                   .stride_width = 3,
                   .pad_height = 1,
                   .pad_width = 0,
                   .ceil_mode = true});
  const size_t max_cases = cases.size();
  for (size_t i = 0; i < max_cases; ++i) {
    cases.push_back(cases[i]);
    cases.back().kind = PoolKind::kAverage;
  }
  return cases;
}

class PoolingTest : public DeviceTest {};
GG_FOR_ALL_DEVICES(PoolingTest);

TEST_P(PoolingTest, MatchesTheDefinition) {
  int number = 0;
  for (const Pool2dDesc& d : Cases()) {
    SCOPED_TRACE(testing::Message() << "case " << number++);
    auto op = device().MakePool2d(d);
    ASSERT_TRUE(op.ok()) << op.status();
    const auto x = Random(d.batch * d.channels * d.in_height * d.in_width, "x");
    const auto dy = Random(d.batch * d.channels * d.out_height() * d.out_width(), "dy");
    std::vector<float> y(dy.size(), 7.0f), dx(x.size(), 7.0f);
    const auto want = oracle::Pooling(d, x, dy);
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE((*op)->Forward(stream(), x, absl::MakeSpan(y)).ok());
      ASSERT_TRUE((*op)->Backward(stream(), dy, absl::MakeSpan(dx)).ok());
      ExpectClose(y, want.y, kTolerance, "y");
      ExpectClose(dx, want.dx, kTolerance, "dx");
    }
  }
}

TEST_P(PoolingTest, MaximumOfNegativeValuesIgnoresPadding) {
  const Pool2dDesc d = Pool(1, 1, 2, 2, 3, 2, 1, false);
  auto op = device().MakePool2d(d);
  ASSERT_TRUE(op.ok()) << op.status();
  const std::vector<float> x = {-4, -3, -2, -5};
  std::vector<float> y(1);
  ASSERT_TRUE((*op)->Forward(stream(), x, absl::MakeSpan(y)).ok());
  EXPECT_EQ(y[0], -2.0f);
}

TEST_P(PoolingTest, GradientOfEqualMaximaGoesToOneOfThem) {
  const Pool2dDesc d = Pool(2, 16, 4, 4, 2, 2, 0, false);
  auto op = device().MakePool2d(d);
  ASSERT_TRUE(op.ok()) << op.status();
  const std::vector<float> x(2 * 16 * 16, 1.0f), dy(2 * 16 * 4, 1.0f);
  std::vector<float> y(dy.size()), dx(x.size());
  ASSERT_TRUE((*op)->Forward(stream(), x, absl::MakeSpan(y)).ok());
  ASSERT_TRUE((*op)->Backward(stream(), dy, absl::MakeSpan(dx)).ok());
  EXPECT_EQ(std::count(dx.begin(), dx.end(), 1.0f), static_cast<std::ptrdiff_t>(dy.size()));
  EXPECT_EQ(std::accumulate(dx.begin(), dx.end(), 0.0f), static_cast<float>(dy.size()));
}

TEST_P(PoolingTest, CeilModeWithPaddingLeavesOutAWindowBeyondTheImage) {
  // 5 wide, window 2, stride 3, pad 1: windows begin at -1, 2; a third would begin at 5, outside.
  const Pool2dDesc d = Pool(1, 1, 5, 5, 2, 3, 1, true);
  EXPECT_EQ(d.out_width(), 2);
}

}  // namespace
}  // namespace gg
