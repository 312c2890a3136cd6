// SPDX-License-Identifier: Apache-2.0
// The plans of all ranks carried out together, phase by phase, against the plain sum.
#include "worker/collective/plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <tuple>

namespace gg {
namespace {

using Vectors = std::vector<std::vector<float>>;

Vectors Start(int size, size_t count) {
  Vectors vectors(size, std::vector<float>(count));
  for (int r = 0; r < size; ++r) {
    for (size_t i = 0; i < count; ++i) vectors[r][i] = 0.1f * (r + 1) + 1.7f * (i % 13);
  }
  return vectors;
}

std::vector<std::vector<CollectivePhase>> PlansOfAll(CollectiveOp op, CollectiveAlgorithm algorithm,
                                                     int size, size_t count) {
  std::vector<std::vector<CollectivePhase>> plans;
  for (int r = 0; r < size; ++r) {
    auto plan = PlanCollective(op, algorithm, size, r, count);
    EXPECT_TRUE(plan.ok()) << plan.status();
    plans.push_back(*plan);
  }
  return plans;
}

// Every receive has its send; all sends of a phase read what the phases before have left.
void CarryOut(const std::vector<std::vector<CollectivePhase>>& plans, Vectors& vectors) {
  const int size = static_cast<int>(plans.size());
  for (size_t k = 0; k < plans[0].size(); ++k) {
    const Vectors before = vectors;
    for (int r = 0; r < size; ++r) {
      ASSERT_EQ(plans[r].size(), plans[0].size());
      const CollectivePhase& phase = plans[r][k];
      if (phase.send_to >= 0) {
        ASSERT_NE(phase.send_to, r);
        EXPECT_EQ(plans[phase.send_to][k].recv_from, r);
        EXPECT_EQ(plans[phase.send_to][k].recv, phase.send);
      }
      if (phase.recv_from < 0) continue;
      ASSERT_EQ(plans[phase.recv_from][k].send_to, r);
      ASSERT_EQ(plans[phase.recv_from][k].send, phase.recv);
      for (size_t i = phase.recv.begin; i < phase.recv.end; ++i) {
        const float value = before[phase.recv_from][i];
        vectors[r][i] = phase.add ? vectors[r][i] + value : value;
      }
    }
  }
}

double Sum(const Vectors& start, size_t i) {
  double sum = 0;
  for (const auto& vector : start) sum += vector[i];
  return sum;
}

class PlanTest : public testing::TestWithParam<std::tuple<CollectiveAlgorithm, int, size_t>> {
 protected:
  CollectiveAlgorithm algorithm = std::get<0>(GetParam());
  int size = std::get<1>(GetParam());
  size_t count = std::get<2>(GetParam());
  bool scatters() const {
    return algorithm == CollectiveAlgorithm::kRing ||
           (algorithm == CollectiveAlgorithm::kHalvingDoubling &&
            std::has_single_bit(static_cast<unsigned>(size)));
  }
};

TEST_P(PlanTest, AllReduceIsTheSumWithTheSameBitsEverywhere) {
  const Vectors start = Start(size, count);
  Vectors vectors = start;
  CarryOut(PlansOfAll(CollectiveOp::kAllReduce, algorithm, size, count), vectors);
  for (size_t i = 0; i < count; ++i) EXPECT_NEAR(vectors[0][i], Sum(start, i), 1e-4 * size);
  for (int r = 1; r < size; ++r) EXPECT_EQ(vectors[r], vectors[0]) << "rank " << r;
}

TEST_P(PlanTest, ReduceScatterLeavesEachRankItsStrip) {
  if (!scatters()) {
    const auto plan = PlanCollective(CollectiveOp::kReduceScatter, algorithm, size, 0, count);
    EXPECT_EQ(plan.ok(), size == 1) << "what cannot scatter must say so";
    return;
  }
  const Vectors start = Start(size, count);
  Vectors vectors = start;
  CarryOut(PlansOfAll(CollectiveOp::kReduceScatter, algorithm, size, count), vectors);
  for (int r = 0; r < size; ++r) {
    const Range strip = Strip(count, size, r);
    for (size_t i = strip.begin; i < strip.end; ++i) {
      EXPECT_NEAR(vectors[r][i], Sum(start, i), 1e-4 * size) << "rank " << r;
    }
  }
}

TEST_P(PlanTest, AllGatherBringsAllStripsToAll) {
  if (!scatters()) return;  // refused, see above
  const Vectors start = Start(size, count);
  Vectors vectors = start;
  CarryOut(PlansOfAll(CollectiveOp::kAllGather, algorithm, size, count), vectors);
  for (int owner = 0; owner < size; ++owner) {
    const Range strip = Strip(count, size, owner);
    for (int r = 0; r < size; ++r) {
      for (size_t i = strip.begin; i < strip.end; ++i) {
        EXPECT_EQ(vectors[r][i], start[owner][i]) << "rank " << r << " strip of " << owner;
      }
    }
  }
}

TEST_P(PlanTest, SendsWhatTheTableSays) {
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(size));
  if (size == 1 || !power_of_two || count % size != 0) return;  // the table's plain case
  const auto plans = PlansOfAll(CollectiveOp::kAllReduce, algorithm, size, count);
  const size_t log2 = std::countr_zero(static_cast<unsigned>(size));
  for (int r = 0; r < size; ++r) {
    size_t values = 0;
    for (const CollectivePhase& phase : plans[r]) values += phase.send.size();
    switch (algorithm) {
      case CollectiveAlgorithm::kRing:
        EXPECT_EQ(plans[r].size(), 2u * (size - 1));
        EXPECT_EQ(values, 2 * count / size * (size - 1));
        break;
      case CollectiveAlgorithm::kHalvingDoubling:
        EXPECT_EQ(plans[r].size(), 2 * log2);
        EXPECT_EQ(values, 2 * count / size * (size - 1));
        break;
      case CollectiveAlgorithm::kRecursiveDoubling:
        EXPECT_EQ(plans[r].size(), log2);
        EXPECT_EQ(values, log2 * count);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanTest,
                         testing::Combine(testing::Values(CollectiveAlgorithm::kRing,
                                                          CollectiveAlgorithm::kHalvingDoubling,
                                                          CollectiveAlgorithm::kRecursiveDoubling),
                                          testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 33),
                                          testing::Values(size_t{0}, size_t{1}, size_t{5},
                                                          size_t{96}, size_t{1001})));

TEST(StripTest, StripsAreOrderedNearlyEqualAndCoverTheVector) {
  for (const int size : {1, 2, 3, 7, 64}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{1} << 40}) {
      size_t at = 0, smallest = count, largest = 0;
      for (int r = 0; r < size; ++r) {
        const Range strip = Strip(count, size, r);
        EXPECT_EQ(strip.begin, at);
        at = strip.end;
        smallest = std::min(smallest, strip.size());
        largest = std::max(largest, strip.size());
      }
      EXPECT_EQ(at, count);
      EXPECT_LE(largest - smallest, 1u);
    }
  }
}

TEST(ChooseCollectiveTest, EveryChoiceCanBePlanned) {
  for (const CollectiveOp op :
       {CollectiveOp::kAllReduce, CollectiveOp::kReduceScatter, CollectiveOp::kAllGather}) {
    for (int size = 1; size <= 17; ++size) {
      for (const size_t bytes : {size_t{0}, size_t{4096}, size_t{100'000}, size_t{100} << 20}) {
        EXPECT_TRUE(PlanCollective(op, ChooseCollective(op, size, bytes), size, 0, bytes / 4).ok());
      }
    }
  }
}

TEST(PlanErrorTest, ARankOutsideIsRefused) {
  const auto plan = PlanCollective(CollectiveOp::kAllReduce, CollectiveAlgorithm::kRing, 4, 4, 8);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
