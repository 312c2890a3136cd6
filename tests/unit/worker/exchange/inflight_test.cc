// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/inflight.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "tests/support/holding_group.h"
#include "worker/exchange/round_notes.h"

namespace gg {
namespace {

Tag NoteTag(uint64_t number) {
  return {Channel::kExchange, RoundNotes::kFirst + number, 0};
}

class InflightTest : public testing::Test {
 protected:
  // Whether a message to `to` could be sent without waiting.
  bool SendsAtOnce(uint64_t step, Rank to) {
    const auto message = inflight_->Outgoing(0, step, to, absl::InfinitePast());
    EXPECT_TRUE(message.ok()) << message.status();
    if (!message.ok() || message->empty()) return false;
    (*message)[0] = static_cast<float>(step);
    inflight_->Send(0, step, to);
    return true;
  }

  std::unique_ptr<Device> device_ = MakeReferenceDevice();
  HoldingGroup group_;
  std::shared_ptr<Inflight> inflight_ =
      *Inflight::Create(*device_, group_, RealClock(), std::vector<size_t>{4});
};

TEST_F(InflightTest, AFrozenPeerHoldsNoSlotOfOthers) {
  constexpr Rank kFrozen = 1, kLive = 2;
  for (uint64_t step = 0; step < 100; step += 2) {
    EXPECT_EQ(SendsAtOnce(step, kFrozen), step < 4) << "two are held, no third one";
    ASSERT_TRUE(SendsAtOnce(step + 1, kLive)) << step;
    group_.Take(kLive);
  }
  EXPECT_EQ(inflight_->HeldBy(kFrozen, 0), Inflight::kHeldPerPeer);
  EXPECT_EQ(inflight_->HeldBy(kLive, 0), 0);
  EXPECT_LE(inflight_->SendBuffers(0), 4u) << "2 + 2 per peer that holds";
  group_.Take(kFrozen);
  EXPECT_TRUE(SendsAtOnce(100, kFrozen));
  EXPECT_LE(inflight_->SendBuffers(0), 4u);
}

TEST_F(InflightTest, WithAllPeersFrozenTheBuffersStayWithinTheirBound) {
  for (uint64_t step = 0; step < 100; ++step) SendsAtOnce(step, 1 + static_cast<Rank>(step % 2));
  EXPECT_EQ(group_.sent().size(), 4u);
  EXPECT_LE(inflight_->SendBuffers(0), 6u);
}

TEST_F(InflightTest, ARunWithoutFaultsAllocatesNothingMore) {
  for (uint64_t step = 0; step < 50; ++step) {
    ASSERT_TRUE(SendsAtOnce(step, 1 + static_cast<Rank>(step % 2)));
    // One step late, as an overlapped message is.
    if (step > 0) group_.Take(1 + static_cast<Rank>((step - 1) % 2));
  }
  EXPECT_EQ(inflight_->SendBuffers(0), 2u);
}

TEST_F(InflightTest, ASnapshotOutlivesTheNextSend) {
  ASSERT_TRUE(SendsAtOnce(0, 1));
  group_.Take(1);
  ASSERT_TRUE(SendsAtOnce(1, 2));
  group_.Take(2);
  EXPECT_EQ(inflight_->Sent(0, 0)[0], 0.0f);
  EXPECT_EQ(inflight_->Sent(0, 1)[0], 1.0f);
}

TEST(RoundNotes, OneIsUnderWayPerPeerAndAFailedOneKeepsItsNumber) {
  HoldingGroup group;
  const auto notes = RoundNotes::Create(group, 3);
  notes->Tell(1, 7, true);
  notes->Tell(1, 8, true);
  notes->Tell(2, 8, true);
  ASSERT_EQ(group.sent().size(), 2u);
  group.Take(1, absl::UnavailableError("gone"));
  notes->Tell(1, 9, true);
  EXPECT_EQ(group.sent().back(), std::make_pair(Rank{1}, NoteTag(0)));
  group.Take(1);
  notes->Tell(1, 10, true);
  EXPECT_EQ(group.sent().back(), std::make_pair(Rank{1}, NoteTag(1)));
}

TEST(RoundNotes, OneThatWasSwallowedCutsNobodyOff) {
  HoldingGroup group;
  const auto notes = RoundNotes::Create(group, 3);
  EXPECT_TRUE(notes->Take().empty());
  group.EndRecv(2, NoteTag(2), absl::OkStatus(), {41});
  const auto taken = notes->Take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].from, 2);
  EXPECT_EQ(taken[0].round, 41u);
  EXPECT_TRUE(notes->Take().empty());
  for (uint64_t number = 3; number < 7; ++number)
    EXPECT_TRUE(group.Expects(2, NoteTag(number))) << number;
}

TEST(RoundNotes, AnImpossibleRoundIsRefused) {
  HoldingGroup group;
  const auto notes = RoundNotes::Create(group, 3);
  notes->Take();
  group.EndRecv(2, NoteTag(0), absl::OkStatus(), {~uint64_t{0}});
  EXPECT_TRUE(notes->Take().empty());
  EXPECT_TRUE(group.Expects(2, NoteTag(4)));
}

TEST(RoundNotes, ABrokenConnectionIsExpectedFromAgainOnceThePeerIsHeardOf) {
  HoldingGroup group;
  const auto notes = RoundNotes::Create(group, 3);
  notes->Take();
  for (uint64_t number = 0; number < 4; ++number) {
    group.EndRecv(1, NoteTag(number), absl::UnavailableError("gone"));
  }
  EXPECT_TRUE(notes->Take().empty());
  EXPECT_FALSE(group.Expects(1, NoteTag(0))) << "asked again and again for nothing";
  notes->Reopen(1);
  notes->Take();
  for (uint64_t number = 0; number < 4; ++number) EXPECT_TRUE(group.Expects(1, NoteTag(number)));
}

}  // namespace
}  // namespace gg
