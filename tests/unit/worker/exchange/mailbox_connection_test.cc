// SPDX-License-Identifier: Apache-2.0
// The mailbox over a connection whose operations end one by one, when and as the test says.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "tests/support/holding_group.h"
#include "tests/support/mailbox_values.h"
#include "worker/exchange/mailbox.h"

namespace gg {
namespace {

// A connection as the transport shows it: operations that end one by one.
class MailboxConnection : public testing::Test {
 protected:
  std::vector<uint64_t> Words(uint64_t floats, uint64_t body) { return {1, 0, 3, 0, floats, body}; }
  int Expected(Rank from) {
    int count = 0;
    for (uint64_t n = 0; n < 40; ++n) count += group_.Expects(from, NoteTag(n)) ? 1 : 0;
    return count;
  }

  std::unique_ptr<Device> device_ = MakeReferenceDevice();
  HoldingGroup group_;
  std::shared_ptr<Mailbox> box_ = Mailbox::Create(*device_, group_, RealClock(), 3, kFloats);
};

TEST_F(MailboxConnection, AFailedNoteGivesItsNumberToTheNext) {
  ASSERT_TRUE(Push(*box_, 1, 2));
  ASSERT_TRUE(Push(*box_, 1, 4));
  EXPECT_FALSE(Push(*box_, 1, 6));
  ASSERT_EQ(group_.sent().size(), 1u) << "the body follows its note, the next note the body";
  group_.Take(1, absl::UnavailableError("gone"));
  EXPECT_EQ(box_->TakeFailures().size(), 2u);
  ASSERT_TRUE(Push(*box_, 1, 8));
  group_.Take(1);
  ASSERT_EQ(group_.sent().size(), 3u);
  EXPECT_EQ(group_.sent()[1], std::make_pair(Rank{1}, NoteTag(0)));
  EXPECT_EQ(group_.sent()[2], std::make_pair(Rank{1}, BodyTag(2))) << "bodies have numbers once";
}

TEST_F(MailboxConnection, NotesAreExpectedAgainWhenThePeerIsBack) {
  EXPECT_EQ(Expected(1), Mailbox::kWindow);
  group_.EndRecv(1, NoteTag(0), absl::OkStatus(), Words(kFloats, 0));
  box_->Take();
  ASSERT_TRUE(group_.Expects(1, BodyTag(0)));
  group_.EndRecv(1, BodyTag(0), absl::UnavailableError("broken"));
  for (uint64_t n = 1; n < 5; ++n) {
    group_.EndRecv(1, NoteTag(n), absl::UnavailableError("broken"));
  }
  EXPECT_EQ(TakeValues(*box_), Strings{"-"});
  EXPECT_FALSE(box_->Reachable(1));
  EXPECT_TRUE(box_->Reachable(2));
  EXPECT_EQ(Expected(1), 1) << "one asks whether it is back";
  group_.EndRecv(1, NoteTag(0), absl::UnavailableError("broken"));
  EXPECT_TRUE(box_->Take().empty());
  EXPECT_EQ(Expected(1), 1);
  EXPECT_TRUE(box_->Take().empty());
  EXPECT_TRUE(box_->Reachable(1)) << "the receive stays open";
  EXPECT_EQ(Expected(1), Mailbox::kWindow);
  EXPECT_TRUE(group_.Expects(1, NoteTag(0))) << "whose sender may believe that it failed";
  group_.EndRecv(1, NoteTag(2), absl::OkStatus(), Words(kFloats, 7));
  box_->Take();
  EXPECT_TRUE(group_.Expects(1, BodyTag(7)));
  EXPECT_FALSE(group_.Expects(1, NoteTag(0))) << "overtaken by two";
}

TEST_F(MailboxConnection, ABodyWaitsForAnEarlierOneThatIsStillBeingHandedOver) {
  for (uint64_t n = 0; n < 2; ++n) {
    for (const Rank from : {1, 2}) {
      group_.EndRecv(from, NoteTag(n), absl::OkStatus(), {1, /*step=*/n, 3, 0, kFloats, n});
    }
  }
  group_.EndRecv(1, BodyTag(1), absl::OkStatus());
  group_.EndRecv(2, BodyTag(0), absl::OkStatus());
  const auto others = box_->Take();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].from, 2);
  group_.EndRecv(1, BodyTag(0), absl::OkStatus());
  const auto both = box_->Take();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].note.step, 0u);
  EXPECT_EQ(both[1].note.step, 1u);
}

TEST_F(MailboxConnection, ALossThatSomeReceivesHaveMissedLeavesNoGap) {
  group_.EndRecv(1, NoteTag(1), absl::UnavailableError("broken"));
  box_->Take();  // gives up the others
  box_->Take();
  box_->Take();
  for (uint64_t n = 0; n < Mailbox::kWindow; ++n) EXPECT_TRUE(group_.Expects(1, NoteTag(n))) << n;
}

TEST_F(MailboxConnection, APushOfAnotherSizeIsRefused) {
  group_.EndRecv(1, NoteTag(0), absl::OkStatus(), Words(kFloats + 1, 0));
  const auto arrivals = box_->Take();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(arrivals[0].status)) << arrivals[0].status;
  EXPECT_FALSE(group_.Expects(1, BodyTag(0)));
  box_->Release(arrivals[0]);
}

TEST_F(MailboxConnection, NotesAloneAreBoundedToo) {
  for (int i = 0; i < Mailbox::kQueuedPerPeer; ++i) EXPECT_TRUE(box_->Push(1, {.kind = 2}));
  EXPECT_FALSE(box_->Push(1, {.kind = 2}));
  EXPECT_EQ(box_->UnderWay(1), Mailbox::kQueuedPerPeer);
}

}  // namespace
}  // namespace gg
