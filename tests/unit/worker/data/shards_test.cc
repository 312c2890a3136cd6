// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/rng.h"
#include "worker/data/batch_source.h"

namespace gg {
namespace {

TEST(Shards, CoverEverySampleOnceInOrderForAnySizes) {
  Rng rng(1, "test/shards");
  for (int size = 1; size <= 17; ++size) {
    for (int round = 0; round < 60; ++round) {
      const auto total = static_cast<int64_t>(rng.Below(round < 30 ? 40 : 100000));
      int64_t next = 0, smallest = total, largest = 0;
      for (Rank rank = 0; rank < size; ++rank) {
        const ShardRange shard = InitialShard(total, size, rank);
        ASSERT_EQ(shard.first, next) << total << " over " << size;
        next += shard.count;
        // The remainder goes to the first ranks.
        ASSERT_TRUE(rank == 0 || shard.count <= smallest);
        smallest = std::min(smallest, shard.count);
        largest = std::max(largest, shard.count);
      }
      ASSERT_EQ(next, total);
      ASSERT_LE(largest - smallest, 1);
      const auto batch = static_cast<int64_t>(1 + rng.Below(70));
      const int64_t steps = StepsPerEpoch(total, size, batch);
      ASSERT_GE(steps * batch, largest);
      ASSERT_LT((steps - 1) * batch, std::max<int64_t>(largest, 1));
    }
  }
}

TEST(Shards, ProportionalOnesCoverAllAndEndTheirEpochTogether) {
  Rng rng(1, "test/proportional-shards");
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> batches(1 + rng.Below(17));
    for (int64_t& batch : batches) batch = 1 + static_cast<int64_t>(rng.Below(100));
    const auto size = static_cast<int64_t>(batches.size());
    // Batch sizes add up to the workers' number times that of the job.
    const int64_t sum = std::accumulate(batches.begin(), batches.end(), int64_t{0});
    batches.back() += (size - sum % size) % size;
    const int64_t batch = (sum + size - 1) / size;
    const int64_t total = size + static_cast<int64_t>(rng.Below(round % 2 == 0 ? 40 : 100000));
    const int64_t steps = StepsPerEpoch(total, static_cast<int>(size), batch);
    int64_t next = 0;
    for (Rank rank = 0; rank < size; ++rank) {
      const ShardRange shard = ProportionalShard(total, batches, rank);
      ASSERT_EQ(shard.first, next);
      ASSERT_GE(shard.count, 1);
      ASSERT_LE(shard.count, steps * batches[static_cast<size_t>(rank)]);
      next += shard.count;
    }
    ASSERT_EQ(next, total);
  }
}

TEST(Shards, OneThousandAndThreeSamplesOverFourWorkers) {
  EXPECT_EQ(InitialShard(1003, 4, 0).count, 251);
  EXPECT_EQ(InitialShard(1003, 4, 3).count, 250);
  EXPECT_EQ(StepsPerEpoch(1003, 4, 16), 16);
}

Dataset Numbered(int64_t count) {
  Dataset set;
  set.shape = {1, 2, 3};
  set.classes = 10;
  set.pixels.resize(static_cast<size_t>(count) * 6);
  std::iota(set.pixels.begin(), set.pixels.end(), uint8_t{0});
  for (int64_t i = 0; i < count; ++i) set.labels.push_back(static_cast<int32_t>(i % 10));
  return set;
}

TEST(ShardStore, HoldsItsRangeAndReplacesWholeSamples) {
  const Dataset set = Numbered(20);
  ShardStore store(set, {.first = 5, .count = 7});
  ASSERT_EQ(store.size(), 7);
  EXPECT_EQ(store.label(2), 7);
  EXPECT_EQ(store.pixels(2), set.sample(7));
  store.Replace(2, set.sample(19), 9);
  EXPECT_EQ(store.label(2), 9);
  EXPECT_EQ(store.pixels(2), set.sample(19));
  EXPECT_EQ(store.pixels(1), set.sample(6));
  EXPECT_EQ(store.pixels(3), set.sample(8));
}

}  // namespace
}  // namespace gg
