// SPDX-License-Identifier: Apache-2.0
#include "worker/data/batch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/clock.h"
#include "core/rng.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

Dataset Numbered(int64_t count) {
  Dataset set;
  set.shape = {1, 2, 2};
  set.classes = 1 << 20;
  for (int64_t i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<int32_t>(i));
    set.pixels.insert(set.pixels.end(), 4, static_cast<uint8_t>(i));
  }
  return set;
}

absl::Time Soon() {
  return RealClock().Now() + absl::Seconds(30);
}

Batch Get(BatchSource& source, uint64_t step) {
  source.StartNext(step);
  auto batch = source.Next(step, Soon());
  EXPECT_TRUE(batch.ok()) << batch.status();
  return batch.ok() ? *batch : Batch{};
}

std::vector<int64_t> Slots(BatchSource& source, uint64_t step) {
  const Batch batch = Get(source, step);
  return {batch.slots.begin(), batch.slots.end()};
}

std::unique_ptr<BatchSource> Make(const ShardStore& store, int64_t batch_size, int64_t steps,
                                  uint64_t seed = 1, Rank rank = 0) {
  auto source = MakeBatchSource(
      store, {.batch_size = batch_size, .steps_per_epoch = steps, .seed = seed, .rank = rank});
  EXPECT_TRUE(source.ok()) << source.status();
  return *std::move(source);
}

TEST(BatchSource, EachSlotOncePerEpochAndTheLastBatchIsFilledUpFromTheStart) {
  Rng rng(3, "test/batches");
  for (int round = 0; round < 40; ++round) {
    const auto size = static_cast<int64_t>(1 + rng.Below(50));
    const auto batch = static_cast<int64_t>(1 + rng.Below(20));
    // Ranks with fewer samples than others take a step more than they need.
    const int64_t steps = (size + batch - 1) / batch + static_cast<int64_t>(rng.Below(2));
    const Dataset set = Numbered(size);
    const ShardStore store(set, {0, size});
    const auto source = Make(store, batch, steps);
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> order;
      for (int64_t s = 0; s < steps; ++s) {
        const auto slots =
            Slots(*source, epoch * static_cast<uint64_t>(steps) + static_cast<uint64_t>(s));
        ASSERT_EQ(slots.size(), static_cast<size_t>(batch));
        if (batch <= size) {
          ASSERT_EQ(std::set<int64_t>(slots.begin(), slots.end()).size(), slots.size());
        }
        order.insert(order.end(), slots.begin(), slots.end());
      }
      ASSERT_EQ(std::set<int64_t>(order.begin(), order.begin() + size).size(),
                static_cast<size_t>(size));
      for (size_t i = static_cast<size_t>(size); i < order.size(); ++i) {
        ASSERT_EQ(order[i], order[i - static_cast<size_t>(size)]);
      }
    }
  }
}

TEST(BatchSource, GivesTheSamplesOfItsSlotsNormalised) {
  const Dataset set = Numbered(40);
  const ShardStore store(set, {10, 30});
  const auto source =
      *MakeBatchSource(store, {.batch_size = 8, .steps_per_epoch = 4, .mean = 0.25, .stddev = 0.5});
  const Batch batch = Get(*source, 2);
  ASSERT_EQ(batch.x.size(), 8u * 4);
  for (size_t i = 0; i < 8; ++i) {
    const int32_t label = store.label(batch.slots[i]);
    EXPECT_EQ(batch.labels[i], label);
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_FLOAT_EQ(batch.x[i * 4 + k], (static_cast<float>(label) / 255 - 0.25f) / 0.5f);
    }
  }
}

TEST(BatchSource, OrderIsAFunctionOfSeedRankAndEpoch) {
  const Dataset set = Numbered(64);
  const ShardStore store(set, {0, 64});
  const auto a = Make(store, 16, 4, 5, 2), b = Make(store, 16, 4, 5, 2);
  const auto other_seed = Make(store, 16, 4, 6, 2), other_rank = Make(store, 16, 4, 5, 3);
  const auto first = Slots(*a, 0);
  EXPECT_EQ(first, Slots(*b, 0));
  EXPECT_NE(first, Slots(*other_seed, 0));
  EXPECT_NE(first, Slots(*other_rank, 0));
  EXPECT_NE(first, Slots(*a, 4));
}

TEST(BatchSource, ResumesFromAnyStepInAnyOrder) {
  const Dataset set = Numbered(50);
  const ShardStore store(set, {0, 50});
  std::map<uint64_t, std::vector<int64_t>> straight;
  const auto one = Make(store, 8, 7);
  for (uint64_t step = 0; step < 35; ++step) straight[step] = Slots(*one, step);
  const auto two = Make(store, 8, 7);
  for (const uint64_t step : {20u, 3u, 34u, 21u, 22u, 0u, 20u}) {
    EXPECT_EQ(Slots(*two, step), straight[step]) << step;
  }
}

TEST(BatchSource, ABatchStaysValidWhileTheNextIsAssembled) {
  const Dataset set = Numbered(64);
  const ShardStore store(set, {0, 64});
  const auto source = Make(store, 16, 4);
  const Batch first = Get(*source, 0);
  const std::vector<float> x(first.x.begin(), first.x.end());
  const std::vector<int64_t> slots(first.slots.begin(), first.slots.end());
  const Batch second = Get(*source, 1);
  EXPECT_EQ(x, std::vector<float>(first.x.begin(), first.x.end()));
  EXPECT_EQ(slots, std::vector<int64_t>(first.slots.begin(), first.slots.end()));
  EXPECT_NE(first.x.data(), second.x.data());
  // Two buffers are all that is held.
  EXPECT_EQ(Get(*source, 2).x.data(), first.x.data());
}

TEST(BatchSource, ABatchLiesReadyUntilItIsTaken) {
  const Dataset set = Numbered(64);
  const ShardStore store(set, {0, 64});
  const auto source = Make(store, 16, 4);
  EXPECT_EQ(source->QueueDepth(), 0);
  source->StartNext(0);
  const absl::Time deadline = RealClock().Now() + absl::Seconds(20);
  while (source->QueueDepth() == 0 && RealClock().Now() < deadline) std::this_thread::yield();
  EXPECT_EQ(source->QueueDepth(), 1);
  ASSERT_TRUE(source->Next(0, deadline).ok());
  EXPECT_EQ(source->QueueDepth(), 0);
}

TEST(BatchSource, SamplesReplacedBetweenNextAndStartNextAreSeenByTheNextBatch) {
  const Dataset set = Numbered(32);
  ShardStore store(set, {0, 32});
  const auto source = Make(store, 8, 4);
  source->StartNext(0);
  for (uint64_t step = 0; step < 40; ++step) {
    const auto batch = source->Next(step, Soon());
    ASSERT_TRUE(batch.ok());
    for (const int32_t label : batch->labels) {
      EXPECT_EQ(label / 100, static_cast<int32_t>(step));
      if (step == 0) break;
    }
    const std::vector<uint8_t> pixels(4, static_cast<uint8_t>(step));
    for (int64_t slot = 0; slot < 32; ++slot) {
      store.Replace(slot, pixels,
                    static_cast<int32_t>((step + 1) * 100 + static_cast<uint64_t>(slot)));
    }
    source->StartNext(step + 1);
  }
}

TEST(BatchSource, MisuseIsAnErrorAndNotAWait) {
  const Dataset set = Numbered(8);
  const ShardStore store(set, {0, 8});
  const auto source = Make(store, 4, 2);
  EXPECT_EQ(source->Next(0, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
  source->StartNext(3);
  EXPECT_EQ(source->Next(2, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(source->Next(3, Soon()).ok());
  EXPECT_EQ(source->Next(3, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
  source->StartNext(4);
  source->StartNext(5);
  EXPECT_THAT(std::string(source->Next(4, Soon()).status().message()),
              HasSubstr("StartNext(5) before Next(4)"));
}

TEST(BatchSource, EndsWithABatchInTheMakingOrUntouched) {
  const Dataset set = Numbered(5000);
  const ShardStore store(set, {0, 5000});
  for (int round = 0; round < 50; ++round) {
    const auto source = Make(store, 5000, 1);
    if (round % 2 == 0) source->StartNext(static_cast<uint64_t>(round));
  }
}

TEST(BatchSource, RefusesWhatCannotWork) {
  const Dataset set = Numbered(10);
  const ShardStore store(set, {0, 10}), empty(set, {0, 0});
  const auto message = [](const ShardStore& s, const BatchSourceOptions& options) {
    const auto source = MakeBatchSource(s, options);
    EXPECT_EQ(source.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(source.status().message());
  };
  EXPECT_THAT(message(empty, {.rank = 7}), HasSubstr("rank 7 owns no samples"));
  EXPECT_THAT(message(store, {.batch_size = 0}), HasSubstr("at least 1"));
  EXPECT_THAT(message(store, {.batch_size = 10, .steps_per_epoch = 0}), HasSubstr("at least 1"));
  EXPECT_THAT(message(store, {.batch_size = 10, .stddev = 0}), HasSubstr("stddev"));
  EXPECT_THAT(message(store, {.batch_size = 4, .steps_per_epoch = 2}), HasSubstr("3 are needed"));
}

TEST(NormalizePixels, IsThePixelOver255MinusMeanOverDeviation) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 256; ++i) pixels.push_back(static_cast<uint8_t>(i));
  std::vector<float> out(256);
  NormalizePixels(pixels, 0, 1, absl::MakeSpan(out));
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[255], 1.0f);
  NormalizePixels(pixels, 0.2860, 0.3530, absl::MakeSpan(out));
  for (int i = 0; i < 256; ++i)
    EXPECT_NEAR(out[static_cast<size_t>(i)], (i / 255.0 - 0.2860) / 0.3530, 1e-6);
}

}  // namespace
}  // namespace gg
