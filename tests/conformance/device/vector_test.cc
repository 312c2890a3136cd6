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

TEST_P(VectorTest, PyTorchsMomentumLeavesTheRateOut) {
  for (const size_t n : kSizes) {
    for (const bool nesterov : {false, true}) {
      SgdParams params{.learning_rate = 0,
                       .momentum = 0.9f,
                       .weight_decay = 0.01f,
                       .nesterov = nesterov,
                       .rate_in_momentum = false};
      auto w = Random(n, "w");
      std::vector<float> v(n);
      std::vector<double> want(w.begin(), w.end()), b(n);
      double rate = 0.05;
      for (const char* step : {"g0", "g1", "g2"}) {
        const auto g = Random(n, step);
        for (size_t i = 0; i < n; ++i) {
          const double d = g[i] + 0.01 * want[i];
          b[i] = 0.9 * b[i] + d;
          want[i] -= rate * (nesterov ? d + 0.9 * b[i] : b[i]);
        }
        params.learning_rate = static_cast<float>(rate);
        ASSERT_TRUE(
            device().SgdMomentum(stream(), params, g, absl::MakeSpan(v), absl::MakeSpan(w)).ok());
        rate /= 2;
      }
      ExpectClose(w, want, kTolerance, "w");
      ExpectClose(v, b, kTolerance, "v");
    }
  }
}

TEST_P(VectorTest, WithoutMomentumNoVectorIsNeeded) {
  const auto g = Random(1000, "g"), w0 = Random(1000, "w");
  for (const bool rate_in_momentum : {true, false}) {
    const SgdParams params{.learning_rate = 0.1f,
                           .momentum = 0,
                           .weight_decay = 0.5f,
                           .rate_in_momentum = rate_in_momentum};
    auto with = w0, without = w0;
    std::vector<float> v(1000);
    ASSERT_TRUE(
        device().SgdMomentum(stream(), params, g, absl::MakeSpan(v), absl::MakeSpan(with)).ok());
    ASSERT_TRUE(device().SgdMomentum(stream(), params, g, Flat(), absl::MakeSpan(without)).ok());
    EXPECT_EQ(with, without);
  }
}

// The formulae of kernels/device.h.
struct AdamOracle {
  void Step(const AdamParams& p, const std::vector<float>& g, bool move) {
    r.resize(g.size());
    for (size_t i = 0; i < g.size(); ++i) {
      const double d = g[i] + (p.decoupled_decay ? 0 : p.weight_decay * w[i]);
      m[i] = p.beta1 * m[i] + (1 - p.beta1) * d;
      v[i] = p.beta2 * v[i] + (1 - p.beta2) * d * d;
      const double t = static_cast<double>(p.step);
      r[i] = m[i] / (1 - std::pow(p.beta1, t)) /
             (std::sqrt(v[i] / (1 - std::pow(p.beta2, t))) + p.epsilon);
      const double decay = p.decoupled_decay ? p.weight_decay * w[i] : 0;
      if (move) w[i] -= p.learning_rate * (decay + r[i]);
      r[i] += decay;
    }
  }
  std::vector<double> w, m, v, r;
};

TEST_P(VectorTest, AdamAndItsDirectionMatchTheFormula) {
  for (const size_t n : kSizes) {
    for (const bool decoupled : {false, true}) {
      AdamParams params{.learning_rate = 0.01,
                        .beta1 = 0.9,
                        .beta2 = 0.99,
                        .epsilon = 1e-6,
                        .weight_decay = 0.1,
                        .step = 0,
                        .decoupled_decay = decoupled};
      auto w = Random(n, "w");
      const auto fixed = w;
      std::vector<float> m(n), v(n), m2(n), v2(n), r(n);
      AdamOracle moving{{w.begin(), w.end()}, std::vector<double>(n), std::vector<double>(n), {}};
      AdamOracle still = moving;
      for (const char* step : {"g0", "g1", "g2", "g3"}) {
        const auto g = Random(n, step);
        ++params.step;
        moving.Step(params, g, true);
        still.Step(params, g, false);
        ASSERT_TRUE(
            device()
                .Adam(stream(), params, g, absl::MakeSpan(m), absl::MakeSpan(v), absl::MakeSpan(w))
                .ok());
        ASSERT_TRUE(device()
                        .AdamDirection(stream(), params, g, fixed, absl::MakeSpan(m2),
                                       absl::MakeSpan(v2), absl::MakeSpan(r))
                        .ok());
      }
      ExpectClose(w, moving.w, kTolerance, "w");
      ExpectClose(m, moving.m, kTolerance, "m");
      ExpectClose(v, moving.v, kTolerance, "v");
      ExpectClose(m2, still.m, kTolerance, "m of the direction");
      ExpectClose(v2, still.v, kTolerance, "v of the direction");
      ExpectClose(r, still.r, 10 * kTolerance, "r");
    }
  }
}

TEST_P(VectorTest, AdamDoesNotDependOnWhereAVectorIsCut) {
  const size_t n = 1003;
  const auto g = Random(n, "g"), w0 = Random(n, "w"), m0 = Random(n, "m");
  const std::vector<float> v0(n, 0.25f);
  const AdamParams params{.learning_rate = 0.013,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .epsilon = 1e-8,
                          .weight_decay = 0.01,
                          .step = 7,
                          .decoupled_decay = true};
  auto w = w0, m = m0, v = v0, cut_w = w0, cut_m = m0, cut_v = v0;
  ASSERT_TRUE(
      device()
          .Adam(stream(), params, g, absl::MakeSpan(m), absl::MakeSpan(v), absl::MakeSpan(w))
          .ok());
  for (size_t at = 0; at < n; at += 7) {
    const size_t count = std::min<size_t>(7, n - at);
    ASSERT_TRUE(device()
                    .Adam(stream(), params, ConstFlat(g).subspan(at, count),
                          absl::MakeSpan(cut_m).subspan(at, count),
                          absl::MakeSpan(cut_v).subspan(at, count),
                          absl::MakeSpan(cut_w).subspan(at, count))
                    .ok());
  }
  EXPECT_EQ(w, cut_w);
  EXPECT_EQ(m, cut_m);
  EXPECT_EQ(v, cut_v);
}

TEST_P(VectorTest, ClampCutsBothSidesAndShowsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  std::vector<float> y = {-3.0f, -0.5f, 0.0f, 0.5f, 3.0f, inf, -inf, nan};
  ASSERT_TRUE(device().Clamp(stream(), 0.5f, absl::MakeSpan(y)).ok());
  EXPECT_TRUE(std::isnan(y.back()));
  y.pop_back();
  EXPECT_EQ(y, (std::vector<float>{-0.5f, -0.5f, 0.0f, 0.5f, 0.5f, 0.5f, -0.5f}));
}

TEST_P(VectorTest, SquaredNormIsTheDistanceToZero) {
  for (const size_t n : kSizes) {
    const auto x = Random(n, "x");
    const std::vector<float> zeros(n);
    EXPECT_EQ(device().SquaredNorm(stream(), x).value(),
              device().SquaredDistance(stream(), x, zeros).value());
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
