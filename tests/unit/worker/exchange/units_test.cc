// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/units.h"

#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/finite.h"

namespace gg {
namespace {

class Units : public testing::Test {
 protected:
  Units() : device_(MakeReferenceDevice()) {
    std::vector<BlockInfo> blocks;
    for (const int64_t lines : {1, 3, 1, 2}) {  // cache lines of 16 floats
      BlockInfo block;
      block.name = "layer" + std::to_string(blocks.size());
      TensorInfo tensor;
      tensor.name = "weight";
      tensor.shape = {lines * 16};
      block.tensors = {tensor};
      blocks.push_back(block);
    }
    arena_ = ParamArena::Create(*device_, blocks).value();
  }
  std::unique_ptr<Device> device_;
  std::unique_ptr<ParamArena> arena_;
};

TEST_F(Units, CoverTheArenaWithoutGapOrOverlapWhateverTheLimit) {
  for (const int64_t limit : {0, 1, 64, 256, 320, 448, 1 << 20}) {
    for (const size_t parts : {1u, 2u}) {
      const UnitPlan plan = PlanUnits(*arena_, parts, limit);
      size_t floats = 0;
      BlockIndex block = 0;
      for (size_t u = 0; u < plan.units.size(); ++u) {
        const ExchangeUnit& unit = plan.units[u];
        EXPECT_EQ(unit.offset, floats);
        EXPECT_EQ(unit.first, block);
        for (int i = 0; i < unit.blocks; ++i) {
          EXPECT_EQ(plan.unit_of_block[block + i], static_cast<int>(u));
        }
        if (unit.blocks > 1) {
          EXPECT_LE(unit.count * parts * sizeof(float), static_cast<size_t>(limit));
        }
        floats += unit.count;
        block += unit.blocks;
      }
      EXPECT_EQ(floats, arena_->size());
      EXPECT_EQ(block, arena_->block_count());
    }
  }
}

TEST_F(Units, SmallLayersTravelTogetherUpToTheLimit) {
  EXPECT_EQ(PlanUnits(*arena_, 1, 1 << 20).units.size(), 1u);
  EXPECT_EQ(PlanUnits(*arena_, 1, 0).units.size(), 4u);
  const UnitPlan plan = PlanUnits(*arena_, 1, 4 * 64);
  ASSERT_EQ(plan.units.size(), 2u);  // 1 + 3 lines, 1 + 2 lines
  EXPECT_EQ(plan.units[0].blocks, 2);
  EXPECT_EQ(plan.units[1].blocks, 2);
}

TEST(AllFinite, SeesOneBadValueAnywhere) {
  std::vector<float> values(37, 1.0f);
  values[3] = std::numeric_limits<float>::max();
  values[4] = -std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(AllFinite(values));
  EXPECT_TRUE(AllFinite({}));
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<float> spoilt = values;
      spoilt[i] = bad;
      EXPECT_FALSE(AllFinite(spoilt)) << i;
    }
  }
}

TEST(ExchangeStats, AddUpAndKeepTheLastDistance) {
  ExchangeStats sum, step;
  step.messages_sent = 2;
  step.bytes_sent = 100;
  step.exchanges_done = 1;
  step.exchanges_skipped = 1;
  step.waited = absl::Seconds(1);
  step.mixed = absl::Milliseconds(1);
  step.partner_distance = 3;
  sum += step;
  step.partner_distance = -1;
  sum += step;
  EXPECT_EQ(sum.messages_sent, 4u);
  EXPECT_EQ(sum.bytes_sent, 200u);
  EXPECT_EQ(sum.exchanges_done, 2u);
  EXPECT_EQ(sum.exchanges_skipped, 2u);
  EXPECT_EQ(sum.waited, absl::Seconds(2));
  EXPECT_EQ(sum.mixed, absl::Milliseconds(2));
  EXPECT_EQ(sum.partner_distance, 3);
}

}  // namespace
}  // namespace gg
