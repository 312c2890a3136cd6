// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/receipt_guard.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_worker.h"

namespace gg {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class ReceiptGuardTest : public testing::Test {
 protected:
  ReceiptGuardTest() {
    context_.size = 4;
    context_.metrics = &sink_;
  }
  Verdict Check(ReceiptGuard& guard, const std::vector<float>& values, double own = 0,
                uint64_t age = 0, Rank peer = 1) {
    const ConstFlat part = values;
    return guard.Check(peer, {&part, 1}, own, age);
  }
  double gauge() const { return sink_.gauge(GaugeId::kGossipQuarantined); }

  RecordingSink sink_;
  ExchangeContext context_;
  const std::vector<float> good_ = {3, 4};
  const std::vector<float> bad_ = {3, kNan};
};

TEST(NormOf, IsTheEuclideanNormOfAllParts) {
  std::vector<float> a(100, 1.0f), b(21, 3.0f);
  const std::vector<ConstFlat> parts = {a, b};
  EXPECT_DOUBLE_EQ(NormOf(parts), std::sqrt(100 + 21 * 9.0));
  EXPECT_EQ(NormOf({}), 0);
}

TEST(NormOf, FiniteValuesHaveAFiniteNormAndOthersHaveNot) {
  for (const size_t count : {1u, 15u, 16u, 17u, 1000u}) {
    std::vector<float> values(count, std::numeric_limits<float>::max());
    ConstFlat part = values;
    EXPECT_TRUE(std::isfinite(NormOf({&part, 1})));
    for (const float bad : {kNan, kInf, -kInf}) {
      for (const size_t at : {size_t{0}, count / 2, count - 1}) {
        std::vector<float> spoilt = values;
        spoilt[at] = bad;
        part = spoilt;
        EXPECT_FALSE(std::isfinite(NormOf({&part, 1}))) << count << " " << at;
      }
    }
  }
}

TEST_F(ReceiptGuardTest, WhatIsNotFiniteIsRefused) {
  ReceiptGuard guard(context_);
  EXPECT_EQ(Check(guard, good_), Verdict::kTake);
  EXPECT_EQ(Check(guard, bad_), Verdict::kNonFinite);
  EXPECT_EQ(Check(guard, {kInf, 1}), Verdict::kNonFinite);
  EXPECT_EQ(Check(guard, good_), Verdict::kTake);
}

TEST_F(ReceiptGuardTest, ANormOutOfProportionIsRefused) {
  context_.spec.norm_limit = 10;
  ReceiptGuard guard(context_);
  EXPECT_EQ(Check(guard, good_, 0.5), Verdict::kTake) << "exactly ten times";
  EXPECT_EQ(Check(guard, good_, 0.49), Verdict::kNorm);
  EXPECT_NE(guard.why().find("norm_limit"), std::string::npos) << guard.why();
  EXPECT_EQ(Check(guard, good_, 0), Verdict::kTake) << "nothing to compare with";
  EXPECT_EQ(Check(guard, good_, double{kNan}), Verdict::kTake) << "we are the sick one";
  context_.spec.norm_limit = 0;
  EXPECT_EQ(Check(guard, good_, 1e-9), Verdict::kTake) << "no limit";
}

TEST_F(ReceiptGuardTest, WhatIsTooOldIsRefusedButNobodysSickness) {
  context_.spec.staleness_bound = 2;
  ReceiptGuard guard(context_);
  EXPECT_EQ(Check(guard, good_, 0, 2), Verdict::kTake);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Check(guard, good_, 0, 3), Verdict::kStale);
  EXPECT_FALSE(guard.quarantined(1));
  context_.spec.staleness_bound = 0;
  EXPECT_EQ(Check(guard, good_, 0, 1000), Verdict::kTake);
}

TEST_F(ReceiptGuardTest, QuarantineBeginsAfterSoManyInARowAndDoubles) {
  context_.spec.quarantine_after = 3;
  ReceiptGuard guard(context_);
  EXPECT_EQ(gauge(), 0);
  Check(guard, bad_);
  Check(guard, bad_);
  Check(guard, good_);
  Check(guard, bad_);
  Check(guard, bad_);
  EXPECT_FALSE(guard.quarantined(1)) << "not in a row";
  EXPECT_EQ(Check(guard, bad_), Verdict::kNonFinite);
  EXPECT_TRUE(guard.begun());
  EXPECT_EQ(gauge(), 1);
  uint64_t pause = ReceiptGuard::kFirstPause;
  for (int again = 0; again < 12; ++again) {
    EXPECT_NE(guard.why().find(std::to_string(pause) + " exchanges"), std::string::npos);
    for (uint64_t i = 0; i < pause; ++i) {
      EXPECT_TRUE(guard.quarantined(1));
      ASSERT_EQ(Check(guard, good_), Verdict::kQuarantine) << i << " of " << pause;
      EXPECT_FALSE(guard.begun());
    }
    EXPECT_EQ(gauge(), 0);
    // One chance, and it is wasted.
    ASSERT_EQ(Check(guard, bad_), Verdict::kNonFinite);
    EXPECT_TRUE(guard.begun());
    if (again < ReceiptGuard::kDoublings) pause *= 2;
  }
}

TEST_F(ReceiptGuardTest, WhoBehavesForSomeTimeIsTreatedAsAtFirst) {
  context_.spec.quarantine_after = 2;
  ReceiptGuard guard(context_);
  Check(guard, bad_);
  Check(guard, bad_);
  for (uint64_t i = 0; i < ReceiptGuard::kFirstPause; ++i) Check(guard, good_);
  EXPECT_EQ(Check(guard, good_), Verdict::kTake);
  EXPECT_EQ(Check(guard, good_), Verdict::kTake);
  EXPECT_EQ(Check(guard, bad_), Verdict::kNonFinite);
  EXPECT_FALSE(guard.quarantined(1));
}

TEST_F(ReceiptGuardTest, EachPeerAnswersForItselfAndZeroMeansNever) {
  context_.spec.quarantine_after = 1;
  ReceiptGuard guard(context_);
  Check(guard, bad_, 0, 0, 1);
  Check(guard, bad_, 0, 0, 3);
  EXPECT_EQ(gauge(), 2);
  EXPECT_EQ(Check(guard, good_, 0, 0, 2), Verdict::kTake);
  context_.spec.quarantine_after = 0;
  ReceiptGuard lenient(context_);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Check(lenient, bad_), Verdict::kNonFinite);
}

}  // namespace
}  // namespace gg
