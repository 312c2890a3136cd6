// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/inflight.h"

#include <map>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "worker/exchange/round_notes.h"

namespace gg {
namespace {

// Holds every message until it is told to take those of a peer.
class HoldingGroup final : public PeerGroup {
 public:
  HoldingGroup() { view_.members.resize(3); }
  ~HoldingGroup() override {
    for (Rank r = 0; r < 3; ++r) Take(r, absl::CancelledError("closed"));
    for (auto& [key, recv] : recvs_) recv.done(absl::CancelledError("closed"));
  }
  const View& view() const override { return view_; }
  Rank self() const override { return 0; }
  void Send(Rank to, Tag tag, ConstBytes from, Done done) override {
    held_.emplace(std::make_pair(to, tag), std::move(done));
    sent_.emplace_back(to, tag);
  }
  void Recv(Rank from, Tag tag, Bytes into, Done done) override {
    recvs_.emplace(std::make_pair(from, tag), Posted{into, std::move(done)});
  }
  void CancelRecv(Rank from, Tag tag) override {
    EndRecv(from, tag, absl::CancelledError("given up"));
  }
  void Expire(Channel, uint64_t) override {}
  PeerStats stats() const override { return {}; }
  std::string DescribePeer(Rank) const override { return "holds"; }

  void Take(Rank peer, absl::Status status = absl::OkStatus()) {
    for (auto& [key, done] : std::exchange(held_, {})) {
      if (key.first == peer) {
        done(status);
      } else {
        held_.emplace(key, std::move(done));
      }
    }
  }
  void EndRecv(Rank from, Tag tag, absl::Status status, uint64_t round = 0) {
    auto node = recvs_.extract({from, tag});
    ASSERT_FALSE(node.empty()) << tag.step;
    *reinterpret_cast<uint64_t*>(node.mapped().into.data()) = round;
    node.mapped().done(std::move(status));
  }
  bool Expects(Rank from, uint64_t number) const {
    return recvs_.contains({from, NoteTag(number)});
  }
  static Tag NoteTag(uint64_t number) {
    return {Channel::kExchange, RoundNotes::kFirst + number, 0};
  }
  const std::vector<std::pair<Rank, Tag>>& sent() const { return sent_; }

 private:
  struct Posted {
    Bytes into;
    Done done;
  };
  View view_;
  std::map<std::pair<Rank, Tag>, Done> held_;
  std::map<std::pair<Rank, Tag>, Posted> recvs_;
  std::vector<std::pair<Rank, Tag>> sent_;
};

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
  EXPECT_EQ(group.sent().back(), std::make_pair(Rank{1}, HoldingGroup::NoteTag(0)));
  group.Take(1);
  notes->Tell(1, 10, true);
  EXPECT_EQ(group.sent().back(), std::make_pair(Rank{1}, HoldingGroup::NoteTag(1)));
}

TEST(RoundNotes, OneThatWasSwallowedCutsNobodyOff) {
  HoldingGroup group;
  const auto notes = RoundNotes::Create(group, 3);
  EXPECT_TRUE(notes->Take().empty());
  group.EndRecv(2, HoldingGroup::NoteTag(2), absl::OkStatus(), 41);
  const auto taken = notes->Take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].from, 2);
  EXPECT_EQ(taken[0].round, 41u);
  EXPECT_TRUE(notes->Take().empty());
  for (uint64_t number = 3; number < 7; ++number) EXPECT_TRUE(group.Expects(2, number)) << number;
}

TEST(RoundNotes, AnImpossibleRoundIsRefused) {
  HoldingGroup group;
  const auto notes = RoundNotes::Create(group, 3);
  notes->Take();
  group.EndRecv(2, HoldingGroup::NoteTag(0), absl::OkStatus(), ~uint64_t{0});
  EXPECT_TRUE(notes->Take().empty());
  EXPECT_TRUE(group.Expects(2, 4));
}

TEST(RoundNotes, ABrokenConnectionIsExpectedFromAgainOnceThePeerIsHeardOf) {
  HoldingGroup group;
  const auto notes = RoundNotes::Create(group, 3);
  notes->Take();
  for (uint64_t number = 0; number < 4; ++number) {
    group.EndRecv(1, HoldingGroup::NoteTag(number), absl::UnavailableError("gone"));
  }
  EXPECT_TRUE(notes->Take().empty());
  EXPECT_FALSE(group.Expects(1, 0)) << "asked again and again for nothing";
  notes->Reopen(1);
  notes->Take();
  for (uint64_t number = 0; number < 4; ++number) EXPECT_TRUE(group.Expects(1, number));
}

}  // namespace
}  // namespace gg
