// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tests/conformance/device/devices.h"

namespace gg {
namespace {

// Around the widths of vectors, cache lines and thread ranges.
const size_t kSizes[] = {0, 1, 3, 15, 16, 17, 64, 1000, 65537};

constexpr double kTolerance = 1e-6;

class VectorTest : public DeviceTest {};
GG_FOR_ALL_DEVICES(VectorTest);

TEST_P(VectorTest, BuffersAreZeroAndAligned) {
  for (const size_t bytes : {size_t{0}, size_t{4}, size_t{4096}, size_t{3} << 20}) {
    auto buffer = device().Allocate(bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ((*buffer)->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->data()) % 64, 0u);
    for (const float f : (*buffer)->floats()) ASSERT_EQ(f, 0.0f);
  }
}

TEST_P(VectorTest, ImpossibleAllocationIsResourceExhausted) {
  for (const size_t bytes : {size_t{1} << 60, std::numeric_limits<size_t>::max()}) {
    EXPECT_EQ(device().Allocate(bytes).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST_P(VectorTest, CopyFillAndSynchronize) {
  for (const size_t n : kSizes) {
    const auto x = Random(n, "x");
    std::vector<float> y(n, 1.0f);
    ASSERT_TRUE(device().Copy(stream(), x, absl::MakeSpan(y)).ok());
    ASSERT_TRUE(stream().Synchronize().ok());
    EXPECT_EQ(x, y);
    ASSERT_TRUE(device().Copy(stream(), y, absl::MakeSpan(y)).ok());
    EXPECT_EQ(x, y);
    ASSERT_TRUE(device().Fill(stream(), -2.5f, absl::MakeSpan(y)).ok());
    EXPECT_EQ(y, std::vector<float>(n, -2.5f));
  }
}

TEST_P(VectorTest, AxpbyMatchesTheFormulaAlsoInPlace) {
  for (const size_t n : kSizes) {
    const auto x = Random(n, "x");
    auto y = Random(n, "y");
    std::vector<double> want(n), want_in_place(n);
    for (size_t i = 0; i < n; ++i) want[i] = 0.25 * x[i] + 0.75 * y[i];
    ASSERT_TRUE(device().Axpby(stream(), 0.25f, x, 0.75f, absl::MakeSpan(y)).ok());
    ExpectClose(y, want, kTolerance, "y");
    for (size_t i = 0; i < n; ++i) want_in_place[i] = 3.0 * y[i];
    ASSERT_TRUE(device().Axpby(stream(), 1.0f, y, 2.0f, absl::MakeSpan(y)).ok());
    ExpectClose(y, want_in_place, kTolerance, "y in place");
  }
}

TEST_P(VectorTest, MixingHalfAndHalfIsTheSameOnBothSides) {
  const auto a = Random(1000, "a"), b = Random(1000, "b");
  auto left = a, right = b;
  ASSERT_TRUE(device().Axpby(stream(), 0.5f, b, 0.5f, absl::MakeSpan(left)).ok());
  ASSERT_TRUE(device().Axpby(stream(), 0.5f, a, 0.5f, absl::MakeSpan(right)).ok());
  EXPECT_EQ(left, right);
}

TEST_P(VectorTest, ResultsDoNotDependOnWhereAVectorIsCut) {
  const size_t n = 1003;
  const auto g = Random(n, "g"), w0 = Random(n, "w"), v0 = Random(n, "v");
  for (const bool nesterov : {false, true}) {
    const SgdParams params{
        .learning_rate = 0.013f, .momentum = 0.91f, .weight_decay = 0.0007f, .nesterov = nesterov};
    auto whole_w = w0, whole_v = v0, cut_w = w0, cut_v = v0;
    ASSERT_TRUE(
        device()
            .SgdMomentum(stream(), params, g, absl::MakeSpan(whole_v), absl::MakeSpan(whole_w))
            .ok());
    for (size_t at = 0; at < n; at += 7) {
      const size_t count = std::min<size_t>(7, n - at);
      ASSERT_TRUE(device()
                      .SgdMomentum(stream(), params, ConstFlat(g).subspan(at, count),
                                   absl::MakeSpan(cut_v).subspan(at, count),
                                   absl::MakeSpan(cut_w).subspan(at, count))
                      .ok());
    }
    EXPECT_EQ(whole_w, cut_w);
    EXPECT_EQ(whole_v, cut_v);
  }
}

TEST_P(VectorTest, AddDifference) {
  for (const size_t n : kSizes) {
    const auto x = Random(n, "x"), s = Random(n, "s");
    auto y = Random(n, "y");
    std::vector<double> want(n);
    for (size_t i = 0; i < n; ++i) want[i] = y[i] + 0.5 * (static_cast<double>(x[i]) - s[i]);
    ASSERT_TRUE(device().AddDifference(stream(), 0.5f, x, s, absl::MakeSpan(y)).ok());
    ExpectClose(y, want, kTolerance, "y");
  }
}

TEST_P(VectorTest, SquaredDistanceAccumulatesInDouble) {
  for (const size_t n : kSizes) {
    const auto x = Random(n, "x"), y = Random(n, "y");
    double want = 0;
    for (size_t i = 0; i < n; ++i)
      want += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
    auto got = device().SquaredDistance(stream(), x, y);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_NEAR(*got, want, 1e-9 * std::max(1.0, want));
  }
}

TEST_P(VectorTest, SgdFollowsCaffesConvention) {
  // v = 0.5 * 2 + 0.1 (3 + 0.25 * 4) = 1.4; w = 4 - 1.4
  const std::vector<float> g = {3.0f};
  std::vector<float> v = {2.0f}, w = {4.0f};
  const SgdParams params{.learning_rate = 0.1f, .momentum = 0.5f, .weight_decay = 0.25f};
  ASSERT_TRUE(device().SgdMomentum(stream(), params, g, absl::MakeSpan(v), absl::MakeSpan(w)).ok());
  EXPECT_NEAR(v[0], 1.4f, 1e-6);
  EXPECT_NEAR(w[0], 2.6f, 1e-6);
}

TEST_P(VectorTest, NesterovIsPyTorchsWhileTheRateIsConstant) {
  for (const size_t n : kSizes) {
    const SgdParams params{
        .learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 0.01f, .nesterov = true};
    auto w = Random(n, "w");
    std::vector<float> v(n);
    // PyTorch's own order of the formula: b = mu b + g; w = w - rate (g + mu b).
    std::vector<double> want(w.begin(), w.end()), b(n);
    for (const char* step : {"g0", "g1", "g2"}) {
      const auto g = Random(n, step);
      for (size_t i = 0; i < n; ++i) {
        const double d = g[i] + 0.01 * want[i];
        b[i] = 0.9 * b[i] + d;
        want[i] -= 0.05 * (d + 0.9 * b[i]);
      }
      ASSERT_TRUE(
          device().SgdMomentum(stream(), params, g, absl::MakeSpan(v), absl::MakeSpan(w)).ok());
    }
    for (double& value : b) value *= 0.05;
    ExpectClose(w, want, kTolerance, "w");
    ExpectClose(v, b, kTolerance, "v");
  }
}

TEST_P(VectorTest, ReluAndItsGradientInPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> y = {-1.0f, 0.0f, 2.0f, nan, -0.0f};
  ASSERT_TRUE(device().Relu(stream(), y, absl::MakeSpan(y)).ok());
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], 2.0f);
  EXPECT_TRUE(std::isnan(y[3])) << "a diverged value must not be hidden";
  std::vector<float> d = {5.0f, 6.0f, 7.0f, 8.0f, 9.0f};
  ASSERT_TRUE(device().ReluBackward(stream(), y, d, absl::MakeSpan(d)).ok());
  EXPECT_EQ(d, (std::vector<float>{0.0f, 0.0f, 7.0f, 8.0f, 0.0f}));
}

TEST_P(VectorTest, MultiplyByAMask) {
  const auto x = Random(100, "x");
  std::vector<float> mask(100), y(100);
  for (size_t i = 0; i < 100; ++i) mask[i] = i % 3 == 0 ? 0.0f : 1.5f;
  ASSERT_TRUE(device().Multiply(stream(), x, mask, absl::MakeSpan(y)).ok());
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(y[i], x[i] * mask[i]);
}

}  // namespace
}  // namespace gg
