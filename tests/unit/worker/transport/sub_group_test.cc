// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/sub_group.h"

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

// Keeps what it is asked for.
class RecordingGroup final : public PeerGroup {
 public:
  RecordingGroup(int size, Rank self) : self_(self) {
    view_.number = 9;
    for (Rank r = 0; r < size; ++r) view_.members.push_back({absl::StrCat("w", r), "x"});
  }
  const View& view() const override { return view_; }
  Rank self() const override { return self_; }
  void Send(Rank to, Tag tag, ConstBytes, Done done) override { Take("send", to, tag, &done); }
  void Recv(Rank from, Tag tag, Bytes, Done done) override { Take("recv", from, tag, &done); }
  void CancelRecv(Rank from, Tag tag) override { Take("cancel", from, tag, nullptr); }
  void Expire(Channel channel, uint64_t step) override {
    Take("expire", -1, {channel, step, 0}, nullptr);
  }
  PeerStats stats() const override { return {.sent_messages = 7}; }
  std::string DescribePeer(Rank peer) const override { return absl::StrCat("peer ", peer); }

  std::vector<std::tuple<std::string, Rank, uint64_t>> calls;
  std::vector<Done> dones;

 private:
  void Take(const char* what, Rank peer, Tag tag, Done* done) {
    calls.emplace_back(what, peer, tag.step);
    if (done != nullptr) dones.push_back(std::move(*done));
  }
  View view_;
  const Rank self_;
};

constexpr Tag kCollective = {Channel::kCollective, 10, 4};
constexpr Tag kExchange = {Channel::kExchange, 10, 4};

TEST(SubGroup, RanksStandForMembersOfTheWhole) {
  RecordingGroup whole(6, 3);
  const auto group = SubGroup::Create(whole, {5, 3, 0}, {1, 3});
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ((*group)->self(), 1);
  EXPECT_EQ((*group)->view().number, 9u);
  ASSERT_EQ((*group)->view().size(), 3);
  EXPECT_EQ((*group)->view().members[0].worker_id, "w5");
  EXPECT_EQ((*group)->DescribePeer(2), "peer 0");
  EXPECT_EQ((*group)->stats().sent_messages, 7u);
  (*group)->Send(0, kExchange, {}, [](absl::Status) {});
  (*group)->Recv(2, kExchange, {}, [](absl::Status) {});
  (*group)->CancelRecv(2, kExchange);
  (*group)->Send(3, kExchange, {}, [](absl::Status) {});
  (*group)->Send(-1, kExchange, {}, [](absl::Status) {});
  EXPECT_THAT(whole.calls,
              testing::ElementsAre(std::tuple("send", 5, 10u), std::tuple("recv", 0, 10u),
                                   std::tuple("cancel", 0, 10u), std::tuple("send", -1, 10u),
                                   std::tuple("send", -1, 10u)));
}

TEST(SubGroup, LanesOfCollectivesNeverMeetAndKeepTheirOrder) {
  RecordingGroup whole(4, 0);
  for (const uint64_t lane : {0u, 1u, 2u}) {
    const auto group = *SubGroup::Create(whole, {0, 1, 2, 3}, {lane, 3});
    group->Send(1, kCollective, {}, [](absl::Status) {});
    group->Expire(Channel::kCollective, 10);
    group->Expire(Channel::kExchange, 10);
    group->CancelRecv(1, {Channel::kCollective, 11, 0});
  }
  std::vector<std::tuple<std::string, Rank, uint64_t>> expected;
  for (const uint64_t lane : {0u, 1u, 2u}) {
    expected.emplace_back("send", 1, 30 + lane);
    expected.emplace_back("expire", -1, 30);
    expected.emplace_back("expire", -1, 10);
    expected.emplace_back("cancel", 1, 33 + lane);
  }
  EXPECT_EQ(whole.calls, expected);
}

TEST(SubGroup, LivesUntilItsLastDoneHasRun) {
  RecordingGroup whole(2, 0);
  auto group = *SubGroup::Create(whole, {0, 1}, {0, 1});
  const std::weak_ptr<SubGroup> watch = group;
  bool alive_inside = false;
  group->Recv(1, kExchange, {}, [&](absl::Status status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    alive_inside = !watch.expired();
  });
  group = nullptr;
  ASSERT_FALSE(watch.expired());
  whole.dones[0](absl::UnavailableError("gone"));
  whole.dones.clear();
  EXPECT_TRUE(alive_inside);
  EXPECT_TRUE(watch.expired());
}

TEST(SubGroup, RefusesMembersThatCannotBe) {
  RecordingGroup whole(3, 0);
  for (const std::vector<Rank>& members :
       {std::vector<Rank>{}, {1, 2}, {0, 3}, {0, -1}, {0, 1, 1}}) {
    EXPECT_EQ(SubGroup::Create(whole, members, {0, 1}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(SubGroup::Create(whole, {0, 1}, {2, 2}).ok());
}

}  // namespace
}  // namespace gg
