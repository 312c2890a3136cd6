// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/tag_matcher.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/match.h"

namespace gg {
namespace {

using absl::StatusCode;

constexpr Tag T(uint64_t step, uint32_t block = 0, Channel channel = Channel::kExchange) {
  return {channel, step, block};
}

class TagMatcherTest : public ::testing::Test {
 protected:
  struct Slot {
    std::vector<uint8_t> bytes;
    std::optional<absl::Status> status;
  };

  void Post(Tag tag, Slot* slot, size_t bytes) {
    slot->bytes.resize(bytes);
    matcher_.Post(tag, absl::MakeSpan(slot->bytes), [slot](absl::Status status) {
      EXPECT_FALSE(slot->status.has_value());
      slot->status = std::move(status);
    });
  }
  void Put(const std::vector<uint8_t>& bytes) {
    if (uint8_t* into = matcher_.Destination(); into != nullptr && !bytes.empty()) {
      std::memcpy(into, bytes.data(), bytes.size());
    }
    matcher_.Advance(bytes.size());
  }
  bool Arrive(Tag tag, const std::vector<uint8_t>& bytes) {
    if (!matcher_.Begin(tag, bytes.size())) return false;
    Put(bytes);
    matcher_.Commit();
    return true;
  }

  TrafficCounters counters_;
  TagMatcher matcher_{"rank 2 (worker-c)", 100, &counters_};
};

TEST_F(TagMatcherTest, GivesAMessageToItsRecvInEitherOrder) {
  Slot first, second;
  Post(T(1), &first, 3);
  EXPECT_FALSE(first.status.has_value());
  EXPECT_TRUE(Arrive(T(1), {1, 2, 3}));
  EXPECT_TRUE(Arrive(T(2), {4, 5}));
  Post(T(2), &second, 2);
  EXPECT_EQ(first.status, absl::OkStatus());
  EXPECT_EQ(second.status, absl::OkStatus());
  EXPECT_EQ(first.bytes, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(second.bytes, (std::vector<uint8_t>{4, 5}));
  EXPECT_EQ(counters_.Read().received_messages, 2u);
  EXPECT_EQ(counters_.Read().received_bytes, 5u);
  EXPECT_EQ(matcher_.unexpected_used(), 0u);
}

TEST_F(TagMatcherTest, ARecvThatComesInTheMiddleGetsTheWholeMessage) {
  Slot slot;
  ASSERT_TRUE(matcher_.Begin(T(1), 4));
  Put({1, 2});
  Post(T(1), &slot, 4);
  EXPECT_EQ(matcher_.unexpected_used(), 0u);
  EXPECT_EQ(matcher_.Destination(), slot.bytes.data() + 2);
  Put({3, 4});
  EXPECT_FALSE(slot.status.has_value());
  matcher_.Commit();
  EXPECT_EQ(slot.status, absl::OkStatus());
  EXPECT_EQ(slot.bytes, (std::vector<uint8_t>{1, 2, 3, 4}));
}

TEST_F(TagMatcherTest, HoldsBackWhatDoesNotFitUntilThereIsRoom) {
  EXPECT_TRUE(Arrive(T(1), std::vector<uint8_t>(90)));
  EXPECT_FALSE(Arrive(T(2), std::vector<uint8_t>(20)));
  EXPECT_EQ(counters_.Read().dropped_stale, 0u);
  Slot first, second;
  Post(T(1), &first, 90);
  EXPECT_TRUE(Arrive(T(2), std::vector<uint8_t>(20)));
  Post(T(2), &second, 20);
  EXPECT_EQ(second.status, absl::OkStatus());
}

TEST_F(TagMatcherTest, ClaimedSizesDoNotOverflowTheBound) {
  for (uint64_t claim : {uint64_t{101}, uint64_t{1} << 62, UINT64_MAX, UINT64_MAX - 50}) {
    EXPECT_FALSE(matcher_.Begin(T(1), claim)) << claim;
  }
  EXPECT_TRUE(Arrive(T(2), std::vector<uint8_t>(90)));
  EXPECT_FALSE(matcher_.Begin(T(1), UINT64_MAX));
  Slot slot;
  Post(T(1), &slot, 8);
  EXPECT_TRUE(matcher_.Begin(T(1), UINT64_MAX));
  EXPECT_EQ(matcher_.Destination(), nullptr);
  EXPECT_EQ(slot.status->code(), StatusCode::kInvalidArgument);
}

TEST_F(TagMatcherTest, BoundsEmptyMessagesToo) {
  int taken = 0;
  while (taken < 1000 && Arrive(T(taken), {})) ++taken;
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 10);
}

TEST_F(TagMatcherTest, ExactlyTheBoundFits) {
  EXPECT_TRUE(Arrive(T(1), std::vector<uint8_t>(100)));
}

TEST_F(TagMatcherTest, SizesThatDifferAreNamed) {
  Slot slot;
  Post(T(7, 3), &slot, 10);
  EXPECT_TRUE(Arrive(T(7, 3), std::vector<uint8_t>(12)));
  ASSERT_TRUE(slot.status.has_value());
  EXPECT_EQ(slot.status->code(), StatusCode::kInvalidArgument);
  for (absl::string_view part : {"exchange step 7 block 3", "rank 2 (worker-c)", "12", "10"}) {
    EXPECT_TRUE(absl::StrContains(slot.status->message(), part)) << *slot.status;
  }
  Slot late;
  ASSERT_TRUE(matcher_.Begin(T(8), 4));
  Post(T(8), &late, 5);
  EXPECT_EQ(late.status->code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(matcher_.Destination(), nullptr);
  Put({0, 0, 0, 0});
  matcher_.Commit();
  EXPECT_EQ(matcher_.unexpected_used(), 0u);
}

TEST_F(TagMatcherTest, ASecondRecvOfATagIsRefusedAtEveryStage) {
  Slot first, second, third;
  Post(T(1), &first, 2);
  Post(T(1), &second, 2);
  EXPECT_EQ(second.status->code(), StatusCode::kAlreadyExists);
  ASSERT_TRUE(matcher_.Begin(T(1), 2));
  Post(T(1), &third, 2);
  EXPECT_EQ(third.status->code(), StatusCode::kAlreadyExists);
  Put({1, 2});
  matcher_.Commit();
  EXPECT_EQ(first.status, absl::OkStatus());
}

TEST_F(TagMatcherTest, ASecondMessageOfAWaitingTagIsDroppedAndCounted) {
  EXPECT_TRUE(Arrive(T(1), {1}));
  EXPECT_TRUE(Arrive(T(1), {2}));
  EXPECT_EQ(counters_.Read().dropped_stale, 1u);
  Slot slot;
  Post(T(1), &slot, 1);
  EXPECT_EQ(slot.bytes[0], 1);
}

TEST_F(TagMatcherTest, CancelInTheMiddleLetsGoOfTheMemory) {
  Slot slot;
  Post(T(1), &slot, 4);
  ASSERT_TRUE(matcher_.Begin(T(1), 4));
  Put({1, 2});
  matcher_.Cancel(T(1));
  EXPECT_EQ(slot.status->code(), StatusCode::kCancelled);
  EXPECT_EQ(matcher_.Destination(), nullptr);
  Put({3, 4});
  matcher_.Commit();
  Slot again;
  Post(T(1), &again, 4);
  EXPECT_FALSE(again.status.has_value());
  matcher_.End(absl::CancelledError("end"));
}

TEST_F(TagMatcherTest, ACancelledTagDropsItsMessageOnceAndCanBePostedAgain) {
  Slot slot, again;
  Post(T(1), &slot, 1);
  matcher_.Cancel(T(1));
  matcher_.Cancel(T(1));
  EXPECT_TRUE(Arrive(T(1), {1}));
  EXPECT_EQ(counters_.Read().dropped_stale, 1u);
  Post(T(1), &again, 1);
  EXPECT_TRUE(Arrive(T(1), {2}));
  EXPECT_EQ(again.status, absl::OkStatus());
  EXPECT_EQ(again.bytes[0], 2);
}

TEST_F(TagMatcherTest, ExpireReachesPendingWaitingAndArrivingMessages) {
  Slot pending, arriving, live, other;
  Post(T(1, 9), &pending, 1);
  Post(T(2, 0), &arriving, 2);
  Post(T(3, 0), &live, 1);
  Post(T(1, 0, Channel::kTrade), &other, 1);
  EXPECT_TRUE(Arrive(T(2, 5), std::vector<uint8_t>(80)));
  ASSERT_TRUE(matcher_.Begin(T(2, 0), 2));
  matcher_.Expire(Channel::kExchange, 3);
  EXPECT_EQ(pending.status->code(), StatusCode::kCancelled);
  EXPECT_EQ(arriving.status->code(), StatusCode::kCancelled);
  EXPECT_FALSE(live.status.has_value());
  EXPECT_FALSE(other.status.has_value());
  EXPECT_EQ(matcher_.unexpected_used(), 0u);
  EXPECT_EQ(counters_.Read().dropped_stale, 2u);
  Put({0, 0});
  matcher_.Commit();
  EXPECT_TRUE(Arrive(T(0), {1}));
  EXPECT_EQ(counters_.Read().dropped_stale, 3u);
  matcher_.Expire(Channel::kExchange, 1);  // monotonic
  EXPECT_TRUE(Arrive(T(2, 7), {1}));
  EXPECT_EQ(counters_.Read().dropped_stale, 4u);
  matcher_.End(absl::CancelledError("end"));
}

TEST_F(TagMatcherTest, LossEndsPendingRecvsAndKeepsWhatWaits) {
  Slot pending, later, waiting, back;
  EXPECT_TRUE(Arrive(T(5), {5}));
  Post(T(1), &pending, 2);
  ASSERT_TRUE(matcher_.Begin(T(1), 2));
  Put({1});
  matcher_.SetLost(absl::UnavailableError("gone"));
  EXPECT_EQ(pending.status->code(), StatusCode::kUnavailable);
  EXPECT_FALSE(matcher_.arriving());
  Post(T(2), &later, 1);
  EXPECT_EQ(later.status->code(), StatusCode::kUnavailable);
  Post(T(5), &waiting, 1);
  EXPECT_EQ(waiting.status, absl::OkStatus());
  matcher_.SetPresent();
  Post(T(3), &back, 1);
  EXPECT_TRUE(Arrive(T(3), {3}));
  EXPECT_EQ(back.status, absl::OkStatus());
}

TEST_F(TagMatcherTest, ACorruptMessageReachesNobody) {
  Slot slot;
  Post(T(1), &slot, 2);
  ASSERT_TRUE(matcher_.Begin(T(1), 2));
  matcher_.Abort(absl::DataLossError("checksum"));
  EXPECT_EQ(slot.status->code(), StatusCode::kDataLoss);
  ASSERT_TRUE(matcher_.Begin(T(2), 90));
  matcher_.Abort(absl::DataLossError("checksum"));
  EXPECT_EQ(matcher_.unexpected_used(), 0u);
}

TEST_F(TagMatcherTest, EndIsFinal) {
  Slot pending, later;
  Post(T(1), &pending, 1);
  EXPECT_TRUE(Arrive(T(2), {1}));
  matcher_.End(absl::CancelledError("closed"));
  EXPECT_EQ(pending.status->code(), StatusCode::kCancelled);
  Post(T(2), &later, 1);
  EXPECT_EQ(later.status->code(), StatusCode::kCancelled);
  EXPECT_TRUE(Arrive(T(3), {1}));
}

}  // namespace
}  // namespace gg
