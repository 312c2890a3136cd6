// SPDX-License-Identifier: Apache-2.0
// What every partner schedule must fulfil, for every size it accepts up to 64 and several seeds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/schedule/graph.h"
#include "core/schedule/influence.h"
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
    const std::vector<double>& other = m[partners.recv_from < 0 ? i : partners.recv_from];
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

// A graph of swaps along a path: everybody but the ends has two neighbours, of an odd number one rests.
ScheduleGraph PathOf(int size) {
  std::string text = absl::StrCat("workers ", size, "\n");
  for (int first = 0; first < 2; ++first) {
    for (int v = first; v + 1 < size; v += 2) absl::StrAppend(&text, " ", v, "-", v + 1);
    absl::StrAppend(&text, "\n");
  }
  return ParseScheduleGraph(text, "path").value();
}

// hierarchical in groups of three where that divides the size, else of one.
ScheduleOptions OptionsOf(absl::string_view name, int size, uint64_t seed) {
  ScheduleOptions options = {.size = size, .seed = seed};
  if (name == "graph") options.graph = std::make_shared<ScheduleGraph>(PathOf(size));
  for (Rank r = 0; name == "hierarchical" && r < size; ++r) {
    options.places.push_back(absl::StrCat(size % 3 == 0 ? r / 3 : r));
  }
  return options;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const absl::string_view name : ScheduleNames()) {
    for (int size = 1; size <= 64; ++size) {
      if (!MakeSchedule(name, OptionsOf(name, size, 1)).ok()) continue;
      for (const uint64_t seed : {1u, 2u, 77u}) cases.push_back({std::string(name), size, seed});
    }
  }
  return cases;
}

class ScheduleConformance : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    schedule_ = *MakeSchedule(name(), OptionsOf(name(), size(), GetParam().seed));
    length_ = schedule_->round_length();
  }
  int size() const { return GetParam().size; }
  const std::string& name() const { return GetParam().name; }
  bool random() const { return name() == "random"; }
  bool groups() const { return schedule_->GroupOf(0).size() > 1; }
  // Workers may rest, and at the ends of a path do.
  bool rests() const { return random() || name() == "graph"; }
  uint64_t RoundStart(int round) const { return static_cast<uint64_t>(round) * length_; }

  std::unique_ptr<PartnerSchedule> schedule_;
  int length_ = 0;
};

TEST_P(ScheduleConformance, RoundHasTheStepsThatAreDocumented) {
  const auto ceil_log2 = [](int n) { return static_cast<int>(std::ceil(std::log2(n))); };
  if (name() == "ring") {
    EXPECT_EQ(length_, size() - 1);
  } else if (groups()) {
    EXPECT_EQ(length_, std::max(1, ceil_log2(size() / 3)));
  } else if (name() != "graph") {
    EXPECT_EQ(length_, ceil_log2(size()));
  }
}

TEST_P(ScheduleConformance, TheTableIsWhatEveryRankIsTold) {
  for (uint64_t step = 0; step < 2u * length_ + 1; ++step) {
    const std::vector<Partners> table = schedule_->Table(step);
    ASSERT_EQ(static_cast<int>(table.size()), size());
    for (Rank r = 0; r < size(); ++r) EXPECT_EQ(table[r], schedule_->At(r, step));
  }
}

TEST_P(ScheduleConformance, GroupsArePartsOfTheWhole) {
  for (Rank r = 0; r < size(); ++r) {
    const std::vector<Rank> group = schedule_->GroupOf(r);
    EXPECT_EQ(std::count(group.begin(), group.end(), r), 1);
    for (const Rank other : group) EXPECT_EQ(schedule_->GroupOf(other), group);
    for (const Rank other : group) EXPECT_NE(schedule_->At(r, 0).send_to, other);
  }
}

TEST_P(ScheduleConformance, SendAndReceiveAreInversePermutationsWithoutSelfPartners) {
  const bool alone = static_cast<int>(schedule_->GroupOf(0).size()) == size();
  for (uint64_t step = 0; step < 5u * length_ + 1; ++step) {
    std::vector<int> receives(size());
    int resting = 0;
    const std::vector<Partners> table = schedule_->Table(step);
    for (Rank r = 0; r < size(); ++r) {
      const Partners partners = table[r];
      if (alone || partners == Partners{-1, -1}) {
        EXPECT_EQ(partners, (Partners{-1, -1}));
        ++resting;
        ++receives[r];
        continue;
      }
      ASSERT_NE(partners.send_to, r);
      ASSERT_GE(partners.send_to, 0);
      ASSERT_LT(partners.send_to, size());
      ++receives[partners.send_to];
      EXPECT_EQ(table[partners.send_to].recv_from, r) << "step " << step;
      EXPECT_EQ(table[partners.recv_from].send_to, r) << "step " << step;
    }
    EXPECT_EQ(receives, std::vector<int>(size(), 1));
    if (random()) {
      EXPECT_EQ(resting, size() % 2);
    } else if (!alone && !rests()) {
      EXPECT_EQ(resting, 0);
    }
  }
}

TEST_P(ScheduleConformance, EverybodyReachesEverybodyInOneRoundFromAnyRoundStart) {
  if (random()) return;  // RandomPairs below
  for (const int round : {0, 1, 2, 3, 17}) {
    const Spread spread = MeasureSpread(*schedule_, RoundStart(round), length_);
    EXPECT_TRUE(spread.influenced.has_value()) << "round " << round;
  }
}

TEST_P(ScheduleConformance, TheMixingMatrixSaysTheSameAsTheSpread) {
  if (size() > 24 || groups()) return;
  const Spread spread = MeasureSpread(*schedule_, 0, 200);
  ASSERT_TRUE(spread.influenced.has_value());
  Matrix m = Identity(size());
  for (uint64_t step = 0; step < *spread.influenced; ++step) {
    bool everywhere = true;
    for (const auto& row : m) {
      for (const double share : row) everywhere = everywhere && share > 0;
    }
    EXPECT_FALSE(everywhere) << "step " << step;
    m = Mixed(*schedule_, step, m);
  }
  for (const auto& row : m) {
    for (const double share : row) EXPECT_GT(share, 0);
  }
}

TEST_P(ScheduleConformance, PowersOfTwoReachExactConsensusInOneGradientFreeRound) {
  if (!std::has_single_bit(static_cast<unsigned>(size()))) return;
  // The others mix the same shares more than once.
  if (name() == "ring" || rests() || groups()) {
    if (size() > 2) return;
  }
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
  if (random()) return;    // draws its pairs anew instead
  if (groups() && size() / 3 < 4) return;
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

// What the sheet of random and its header say of how long it takes.
TEST(RandomPairs, TakeAtMostTwoRoundsInTheMean) {
  for (int size = 2; size <= 64; ++size) {
    double sum = 0;
    constexpr int kSeeds = 40;
    uint64_t round = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const auto schedule = *MakeSchedule("random", {.size = size, .seed = seed});
      round = static_cast<uint64_t>(schedule->round_length());
      const Spread spread = MeasureSpread(*schedule, 0, 1000);
      ASSERT_TRUE(spread.influenced.has_value()) << size;
      EXPECT_GE(*spread.influenced, round) << "fewer steps cannot be";
      sum += static_cast<double>(*spread.influenced);
    }
    const double mean = sum / kSeeds;
    RecordProperty(absl::StrCat("mean_steps_p", size), absl::StrCat(mean));
    EXPECT_LE(mean, 2 * static_cast<double>(round)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleConformance, testing::ValuesIn(Cases()), CaseName);

// Guards the guard: a schedule that began to refuse sizes would shrink the suite above in silence.
TEST(ScheduleCases, EverySizeOfAllAndEveryPowerOfTwoOfHypercube) {
  EXPECT_EQ(Cases().size(), (6 * 64u + 7u) * 3u);
}

}  // namespace
}  // namespace gg
