// SPDX-License-Identifier: Apache-2.0
#include "worker/trade/sample_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/metrics/sink.h"
#include "tests/support/fake_peer_group.h"
#include "tests/unit/worker/trade/trade_samples.h"

namespace gg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kPatient = absl::Seconds(30);
constexpr absl::Duration kImpatient = absl::Milliseconds(1);

// Three workers with four samples each: w0 has 0..3, w1 4..7, w2 8..11. The tests play all of them.
class SampleRingTest : public ::testing::Test {
 protected:
  SampleRing& Make(Rank rank, absl::Duration deadline = kPatient, int max_in_flight = 4,
                   int64_t samples = 2) {
    auto ring = MakeSampleRing(
        {.samples_per_trade = samples, .deadline = deadline, .max_in_flight = max_in_flight},
        *stores_[static_cast<size_t>(rank)], &peers_.group(rank), RealClock(), NullMetricSink());
    EXPECT_TRUE(ring.ok()) << ring.status();
    rings_.push_back(*std::move(ring));
    return *rings_.back();
  }
  std::vector<int32_t> Labels(Rank rank) const {
    const ShardStore& store = *stores_[static_cast<size_t>(rank)];
    std::vector<int32_t> labels;
    for (int64_t slot = 0; slot < store.size(); ++slot) labels.push_back(store.label(slot));
    return labels;
  }
  // Waits until `ring` has committed `count` trades.
  static void CommitUntil(SampleRing& ring, uint64_t count) {
    const absl::Time end = RealClock().Now() + kPatient;
    while (ring.stats().trades_committed < count && RealClock().Now() < end) {
      ASSERT_TRUE(ring.Commit().ok());
    }
    ASSERT_EQ(ring.stats().trades_committed, count);
  }
  static absl::Time Soon() { return RealClock().Now() + kPatient; }
  static absl::Time Now() { return RealClock().Now(); }

  const Dataset set_ = NumberedSamples(12);
  std::vector<std::unique_ptr<ShardStore>> stores_ = ShardsOf(set_, 3);
  FakePeers peers_{3, 1};
  std::vector<std::unique_ptr<SampleRing>> rings_;
};

TEST_F(SampleRingTest, SendsToTheLeftAndTakesFromTheRightIntoTheSameSlots) {
  for (Rank r = 0; r < 3; ++r) Make(r);
  ASSERT_TRUE(rings_[0]->Begin({3, 1}).ok());
  ASSERT_TRUE(rings_[1]->Begin({0, 2}).ok());
  ASSERT_TRUE(rings_[2]->Begin({2, 3}).ok());
  for (auto& ring : rings_) ASSERT_TRUE(ring->Commit().ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 6, 2, 4}));
  EXPECT_EQ(Labels(1), (std::vector<int32_t>{10, 5, 11, 7}));
  EXPECT_EQ(Labels(2), (std::vector<int32_t>{8, 9, 3, 1}));
  EXPECT_EQ(Contents(stores_, set_), set_.labels);
  const TradeStats stats = rings_[0]->stats();
  EXPECT_EQ(stats.trades_begun, 1u);
  EXPECT_EQ(stats.trades_committed, 1u);
  EXPECT_EQ(stats.samples_sent, 2u);
  EXPECT_EQ(stats.samples_received, 2u);
  EXPECT_EQ(stats.bytes_sent, 2u * (4 + 6));
}

TEST_F(SampleRingTest, StoreIsUntouchedUntilCommit) {
  for (Rank r = 0; r < 3; ++r) Make(r);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Begin({0, 1}).ok());
  for (Rank r = 1; r < 3; ++r) ASSERT_TRUE(rings_[static_cast<size_t>(r)]->Drain(Soon()).ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 1, 2, 3}));
  ASSERT_TRUE(rings_[0]->Commit().ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 5, 2, 3}));
}

TEST_F(SampleRingTest, RepeatedSlotsOfAPaddedBatchAreTradedOnce) {
  for (Rank r = 0; r < 3; ++r) Make(r);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Begin({2, 2, 2, 0, 1}).ok());
  for (auto& ring : rings_) ASSERT_TRUE(ring->Commit().ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 1, 6, 3}));
}

TEST_F(SampleRingTest, TradesAreMatchedByNumberWhateverStepTheNeighboursAreAt) {
  for (Rank r = 0; r < 3; ++r) Make(r);
  // w0 runs ahead by a trade; the others begin their second after their first is over.
  ASSERT_TRUE(rings_[0]->Begin({0, 1}).ok());
  ASSERT_TRUE(rings_[0]->Begin({2, 3}).ok());
  for (Rank r = 1; r < 3; ++r) ASSERT_TRUE(rings_[static_cast<size_t>(r)]->Begin({0, 1}).ok());
  for (auto& ring : rings_) ASSERT_TRUE(ring->Commit().ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 5, 2, 3}));
  for (Rank r = 1; r < 3; ++r) ASSERT_TRUE(rings_[static_cast<size_t>(r)]->Begin({2, 3}).ok());
  for (auto& ring : rings_) ASSERT_TRUE(ring->Commit().ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 5, 6, 7}));
  EXPECT_EQ(Contents(stores_, set_), set_.labels);
}

TEST_F(SampleRingTest, ALateTradeIsCountedOnceAndCommittedByALaterCall) {
  peers_.Hold(1);
  Make(0, kImpatient);
  for (Rank r = 1; r < 3; ++r) Make(r);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Begin({0, 1}).ok());
  ASSERT_TRUE(rings_[0]->Commit().ok());
  ASSERT_TRUE(rings_[0]->Commit().ok());
  EXPECT_EQ(rings_[0]->stats().trades_late, 1u);
  EXPECT_EQ(rings_[0]->stats().trades_committed, 0u);
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 1, 2, 3}));
  peers_.Release(1);
  CommitUntil(*rings_[0], 1);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Drain(Soon()).ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 5, 2, 3}));
  EXPECT_EQ(Contents(stores_, set_), set_.labels);
}

TEST_F(SampleRingTest, ASlotUnderWayIsNotSentASecondTime) {
  peers_.Hold(1);
  Make(0, kImpatient);
  for (Rank r = 1; r < 3; ++r) Make(r);
  for (auto& ring : rings_) {
    ASSERT_TRUE(ring->Begin({0, 1}).ok());
    ASSERT_TRUE(ring->Begin({1, 0, 3}).ok());  // only slot 3 is here: not enough
  }
  EXPECT_EQ(rings_[0]->stats().trades_begun, 1u);
  EXPECT_EQ(rings_[0]->stats().trades_skipped, 1u);
  peers_.Release(1);
  ForEachRank(3, [&](Rank r) {
    const absl::Status drained = rings_[static_cast<size_t>(r)]->Drain(Soon());
    ASSERT_TRUE(drained.ok()) << drained;
  });
  for (auto& ring : rings_) EXPECT_EQ(ring->stats().trades_committed, 2u);
  EXPECT_EQ(Contents(stores_, set_), set_.labels);
}

TEST_F(SampleRingTest, ASlowNeighbourHoldsBackNoMoreTradesThanAllowed) {
  peers_.Hold(1);
  Make(0, kImpatient, /*max_in_flight=*/2, /*samples=*/1);
  for (Rank r = 1; r < 3; ++r) Make(r, kPatient, 2, 1);
  for (int64_t step = 0; step < 10; ++step) {
    ASSERT_TRUE(rings_[0]->Commit().ok());
    ASSERT_TRUE(rings_[0]->Begin({step % 4}).ok());
  }
  EXPECT_EQ(rings_[0]->stats().trades_begun, 2u);
  EXPECT_EQ(rings_[0]->stats().trades_skipped, 8u);
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 1, 2, 3}));
  const absl::Status drained = rings_[0]->Drain(Now());
  EXPECT_EQ(drained.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(drained.message()),
              AllOf(HasSubstr("2 trades were not completed and 8 not begun"),
                    HasSubstr("trade 0 waits for worker w1 (rank 1")));
}

TEST_F(SampleRingTest, ADrainThatFailedCanBeRepeated) {
  peers_.Hold(1);
  for (Rank r = 0; r < 3; ++r) Make(r);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Begin({0, 1}).ok());
  EXPECT_EQ(rings_[0]->Drain(Now()).code(), absl::StatusCode::kDeadlineExceeded);
  peers_.Release(1);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Drain(Soon()).ok());
  EXPECT_EQ(Contents(stores_, set_), set_.labels);
}

TEST_F(SampleRingTest, ALostRightNeighbourIsNamedOnceAndTheSamplesStay) {
  Make(0);
  ASSERT_TRUE(rings_[0]->Begin({0, 1}).ok());
  peers_.Lose(1);
  const absl::Status lost = rings_[0]->Commit();
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(lost.message()), HasSubstr("from worker w1 (rank 1"));
  for (int step = 0; step < 5; ++step) {
    ASSERT_TRUE(rings_[0]->Begin({2, 3}).ok());
    ASSERT_TRUE(rings_[0]->Commit().ok());
  }
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(rings_[0]->stats().trades_begun, 1u);
  EXPECT_EQ(rings_[0]->stats().trades_skipped, 6u);
  const absl::Status drained = rings_[0]->Drain(Soon());
  EXPECT_EQ(drained.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(drained.message()),
              AllOf(HasSubstr("1 trades were not completed and 5 not begun"), HasSubstr("w1")));
}

TEST_F(SampleRingTest, ALostLeftNeighbourIsNamed) {
  peers_.Hold(0);
  Make(0);
  ASSERT_TRUE(rings_[0]->Begin({0, 1}).ok());
  peers_.Lose(2);
  const absl::Status lost = rings_[0]->Commit();
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(lost.message()), HasSubstr("to worker w2 (rank 2"));
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_F(SampleRingTest, TradesThatWereWholeBeforeTheLossAreCommitted) {
  for (Rank r = 0; r < 3; ++r) Make(r);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Begin({0, 1}).ok());
  for (Rank r = 1; r < 3; ++r) ASSERT_TRUE(rings_[static_cast<size_t>(r)]->Drain(Soon()).ok());
  ASSERT_TRUE(rings_[0]->Drain(Soon()).ok());
  ASSERT_TRUE(rings_[0]->Begin({2, 3}).ok());
  peers_.Lose(1);
  EXPECT_EQ(rings_[0]->Drain(Soon()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 5, 2, 3}));
}

// A damaged message used to cost its trade: the receiver kept its samples, which its left neighbour
// had by then as well, and those of its right neighbour were lost.
TEST_F(SampleRingTest, ADamagedMessageIsSentAgain) {
  peers_.Damage(1, {Channel::kTrade, 0, 0});
  peers_.Damage(1, {Channel::kTrade, 0, 1});
  for (Rank r = 0; r < 3; ++r) Make(r);
  for (auto& ring : rings_) ASSERT_TRUE(ring->Begin({0, 1}).ok());
  for (auto& ring : rings_) ASSERT_TRUE(ring->Drain(Soon()).ok());
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 5, 2, 3}));
  EXPECT_EQ(Contents(stores_, set_), set_.labels);
  EXPECT_EQ(rings_[0]->stats().messages_damaged, 2u);
  EXPECT_EQ(rings_[1]->stats().messages_repeated, 2u);
  EXPECT_EQ(rings_[1]->stats().samples_sent, 2u);
}

// Where nothing comes whole, asking at once would never end: it goes on at the pace of the
// deadline.
TEST_F(SampleRingTest, ALinkThatDamagesEverythingIsLateAndNotBusy) {
  for (uint32_t attempt = 0; attempt < 40; ++attempt) {
    peers_.Damage(1, {Channel::kTrade, 0, attempt});
  }
  for (Rank r = 0; r < 3; ++r) Make(r, absl::Milliseconds(2));
  for (auto& ring : rings_) ASSERT_TRUE(ring->Begin({0, 1}).ok());
  const absl::Status late = rings_[0]->Drain(Now() + absl::Milliseconds(5));
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("trade 0 waits for worker w1"));
  EXPECT_LT(rings_[0]->stats().messages_damaged, 40u);
  ForEachRank(3, [&](Rank r) {
    const absl::Status drained = rings_[static_cast<size_t>(r)]->Drain(Soon());
    ASSERT_TRUE(drained.ok()) << drained;
  });
  EXPECT_GT(rings_[0]->stats().messages_damaged, 9u);
  EXPECT_EQ(Contents(stores_, set_), set_.labels);
}

// When the neighbour is gone: what has arrived is put in place, the rest stays, and what nobody can
// know is counted.
TEST_F(SampleRingTest, SamplesInDoubtAreCountedWhenANeighbourIsGone) {
  Make(0);
  Make(1);
  ASSERT_TRUE(rings_[0]->Begin({0, 1}).ok());
  ASSERT_TRUE(rings_[1]->Begin({0, 1}).ok());
  ASSERT_TRUE(rings_[0]->Commit().ok());  // w2 has acknowledged nothing: it never came
  EXPECT_EQ(rings_[0]->stats().samples_in_doubt, 0u);
  peers_.Lose(2);
  const absl::Status drained = rings_[0]->Drain(Soon());
  EXPECT_EQ(drained.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(drained.message()),
              AllOf(HasSubstr("w2"), HasSubstr("2 samples in doubt")));
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{4, 5, 2, 3}));
  EXPECT_EQ(rings_[0]->stats().samples_in_doubt, 2u);
}

TEST_F(SampleRingTest, ANeighbourThatTradesAnotherNumberOfSamplesIsAnError) {
  Make(0);
  Make(1, kPatient, 4, 3);
  ASSERT_TRUE(rings_[0]->Begin({0, 1}).ok());
  ASSERT_TRUE(rings_[1]->Begin({0, 1, 2}).ok());
  EXPECT_EQ(rings_[0]->Commit().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_F(SampleRingTest, EndsSafelyWithTransfersInFlight) {
  for (int round = 0; round < 20; ++round) {
    FakePeers peers(3, static_cast<uint64_t>(round));
    auto stores = ShardsOf(set_, 3);
    if (round % 2 == 0) peers.Hold(1);
    std::vector<std::unique_ptr<SampleRing>> rings;
    for (Rank r = 0; r < 3; ++r) {
      rings.push_back(*MakeSampleRing({.samples_per_trade = 1, .deadline = kImpatient},
                                      *stores[static_cast<size_t>(r)], &peers.group(r), RealClock(),
                                      NullMetricSink()));
      for (int64_t slot = 0; slot < 4; ++slot) ASSERT_TRUE(rings.back()->Begin({slot}).ok());
    }
    // Held Sends are still pending when their ring goes: their memory must live on.
    rings.clear();
    stores.clear();
    peers.Release(1);
  }
}

TEST_F(SampleRingTest, NonsenseIsRefused) {
  const auto code = [&](const SampleRingOptions& options) {
    return MakeSampleRing(options, *stores_[0], &peers_.group(0), RealClock(), NullMetricSink())
        .status()
        .code();
  };
  EXPECT_EQ(code({.samples_per_trade = -1}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.samples_per_trade = 5}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.samples_per_trade = 1, .max_in_flight = 0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.samples_per_trade = 1, .deadline = absl::ZeroDuration()}),
            absl::StatusCode::kInvalidArgument);
  SampleRing& ring = Make(0);
  EXPECT_EQ(ring.Begin({0, 4}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ring.Begin({-1, 0}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ring.Begin({2, 2}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SampleRingTest, ARingOfOneAndARingWithoutSamplesDoNothing) {
  FakePeers alone(1, 1);
  const auto one = MakeSampleRing({.samples_per_trade = 2}, *stores_[0], &alone.group(0),
                                  RealClock(), NullMetricSink());
  const auto none =
      MakeSampleRing({.samples_per_trade = 2}, *stores_[0], nullptr, RealClock(), NullMetricSink());
  const auto empty = MakeSampleRing({.samples_per_trade = 0}, *stores_[0], &peers_.group(0),
                                    RealClock(), NullMetricSink());
  for (const auto* ring : {&one, &none, &empty}) {
    ASSERT_TRUE(ring->ok());
    EXPECT_TRUE((**ring)->Begin({0, 1}).ok());
    EXPECT_TRUE((**ring)->Commit().ok());
    EXPECT_TRUE((**ring)->Drain(Now()).ok());
    EXPECT_EQ((**ring)->stats().trades_begun, 0u);
  }
  EXPECT_EQ(Labels(0), (std::vector<int32_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace gg
