// SPDX-License-Identifier: Apache-2.0
// What every partner schedule must fulfil, for every size it accepts up to 64 and several seeds.
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/schedule/schedule.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

using Matrix = std::vector<std::vector<double>>;  // row i: what worker i's value is made of

Matrix Identity(int n) {
  Matrix m(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) m[i][i] = 1;
  return m;
}

// m after one gradient-free exchange: everyone takes half of its own and half of what it receives.
Matrix Mixed(const PartnerSchedule& schedule, uint64_t step, const Matrix& m) {
  Matrix out(m.size());
  for (int i = 0; i < schedule.size(); ++i) {
    const Partners partners = schedule.At(i, step);
    const std::vector<double>& other = m[schedule.size() == 1 ? i : partners.recv_from];
    out[i].resize(m.size());
    for (size_t j = 0; j < m.size(); ++j) out[i][j] = 0.5 * m[i][j] + 0.5 * other[j];
  }
  return out;
}

struct Case {
  std::string name;
  int size;
  uint64_t seed;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const absl::string_view name : ScheduleNames()) {
    for (int size = 1; size <= 64; ++size) {
      if (!MakeSchedule(name, {.size = size}).ok()) continue;
      for (const uint64_t seed : {1u, 2u, 77u}) cases.push_back({std::string(name), size, seed});
    }
  }
  return cases;
}

class ScheduleConformance : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    schedule_ = *MakeSchedule(GetParam().name, {.size = size(), .seed = GetParam().seed});
    length_ = schedule_->round_length();
  }
  int size() const { return GetParam().size; }
  uint64_t RoundStart(int round) const { return static_cast<uint64_t>(round) * length_; }

  std::unique_ptr<PartnerSchedule> schedule_;
  int length_ = 0;
};

TEST_P(ScheduleConformance, RoundHasCeilLog2Steps) {
  EXPECT_EQ(length_, static_cast<int>(std::ceil(std::log2(size()))));
}

TEST_P(ScheduleConformance, SendAndReceiveAreInversePermutationsWithoutSelfPartners) {
  for (uint64_t step = 0; step < 5u * length_ + 1; ++step) {
    std::vector<int> receives(size());
    for (Rank r = 0; r < size(); ++r) {
      const Partners partners = schedule_->At(r, step);
      if (size() == 1) {
        EXPECT_EQ(partners, (Partners{-1, -1}));
        continue;
      }
      ASSERT_NE(partners.send_to, r);
      ASSERT_GE(partners.send_to, 0);
      ASSERT_LT(partners.send_to, size());
      ++receives[partners.send_to];
      EXPECT_EQ(schedule_->At(partners.send_to, step).recv_from, r) << "step " << step;
      EXPECT_EQ(schedule_->At(partners.recv_from, step).send_to, r) << "step " << step;
    }
    if (size() > 1) {
      EXPECT_EQ(receives, std::vector<int>(size(), 1));
    }
  }
}

TEST_P(ScheduleConformance, EverybodyReachesEverybodyInOneRoundFromAnyRoundStart) {
  for (const int round : {0, 1, 2, 3, 17}) {
    Matrix m = Identity(size());
    for (int k = 0; k < length_; ++k) m = Mixed(*schedule_, RoundStart(round) + k, m);
    for (const auto& row : m) {
      for (const double share : row) EXPECT_GT(share, 0) << "round " << round;
    }
  }
}

TEST_P(ScheduleConformance, PowersOfTwoReachExactConsensusInOneGradientFreeRound) {
  if (!std::has_single_bit(static_cast<unsigned>(size()))) return;
  for (const int round : {0, 1, 5}) {
    Matrix m = Identity(size());
    for (int k = 0; k < length_; ++k) m = Mixed(*schedule_, RoundStart(round) + k, m);
    for (const auto& row : m) {
      for (const double share : row) EXPECT_EQ(share, 1.0 / size()) << "round " << round;
    }
  }
}

TEST_P(ScheduleConformance, MixingIsDoublyStochasticInEveryRotation) {
  for (uint64_t step = 0; step < 4u * length_ + 1; ++step) {
    const Matrix m = Mixed(*schedule_, step, Identity(size()));
    for (int i = 0; i < size(); ++i) {
      double row = 0, column = 0;
      for (int j = 0; j < size(); ++j) {
        EXPECT_GE(m[i][j], 0);
        row += m[i][j];
        column += m[j][i];
      }
      EXPECT_EQ(row, 1.0);
      EXPECT_EQ(column, 1.0);
    }
  }
}

TEST_P(ScheduleConformance, LaterRoundsAreRotated) {
  if (size() < 4) return;  // too few permutations: some seeds draw the identity again
  std::set<std::vector<Rank>> rotations;
  for (uint64_t round = 0; round < 8; ++round) {
    rotations.insert(schedule_->Rotation(round * static_cast<uint64_t>(length_)));
  }
  EXPECT_GE(rotations.size(), 4u);
}

TEST_P(ScheduleConformance, RotationIsAPermutationThatHoldsForOneRound) {
  for (const uint64_t step : {0u, 1u, 5u, 6u, 50u, 1000u}) {
    const std::vector<Rank> ranks = schedule_->Rotation(step);
    ASSERT_EQ(static_cast<int>(ranks.size()), size());
    std::vector<int> seen(size());
    for (const Rank r : ranks) ++seen.at(r);
    EXPECT_EQ(seen, std::vector<int>(size(), 1));
    if (length_ > 0) {
      EXPECT_EQ(ranks, schedule_->Rotation(step - step % length_));
    }
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& param) {
  return param.param.name + "_p" + std::to_string(param.param.size) + "_seed" +
         std::to_string(param.param.seed);
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleConformance, testing::ValuesIn(Cases()), CaseName);

// Guards the guard: a schedule that began to refuse sizes would shrink the suite above in silence.
TEST(ScheduleCases, EverySizeOfDisseminationAndEveryPowerOfTwoOfHypercube) {
  EXPECT_EQ(Cases().size(), (64u + 7u) * 3u);
}

}  // namespace
}  // namespace gg
