// SPDX-License-Identifier: Apache-2.0
// Tags, sizes, views, jobs: what belongs together and what does not.
#include "tests/conformance/transport/transport_suite.h"

namespace gg {
namespace {

using absl::StatusCode;

TEST_P(TransportConformance, RefusesRanksThatAreNoPeers) {
  Start(2);
  std::vector<uint8_t> buffer(8);
  for (Rank bad : {-1, 0, 2, 1000}) {
    EXPECT_EQ(Send(0, bad, Exchange(1), buffer).Wait().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(Recv(0, bad, Exchange(1), &buffer).Wait().code(), StatusCode::kInvalidArgument)
        << bad;
    groups_[0]->CancelRecv(bad, Exchange(1));
  }
}

TEST_P(TransportConformance, RefusesASecondRecvOfATag) {
  Start(2);
  std::vector<uint8_t> first(8), second(8);
  const std::vector<uint8_t> data = Pattern(1, 8);
  Op r1 = Recv(1, 0, Exchange(1), &first);
  EXPECT_EQ(Recv(1, 0, Exchange(1), &second).Wait().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Send(0, 1, Exchange(1), data).Wait(), absl::OkStatus());
  EXPECT_EQ(r1.Wait(), absl::OkStatus());
  EXPECT_TRUE(first == data);
}

TEST_P(TransportConformance, RefusesASecondSendOfATag) {
  TransportOptions options;
  options.unexpected_bytes = 0;
  Start(2, options);
  // Big enough to stay pending while nobody receives.
  const std::vector<uint8_t> data = Pattern(1, GetParam().path_bytes + (8 << 20));
  Op first = Send(0, 1, Exchange(1), data);
  EXPECT_EQ(Send(0, 1, Exchange(1), data).Wait().code(), StatusCode::kAlreadyExists);
  std::vector<uint8_t> got(data.size());
  EXPECT_EQ(Recv(1, 0, Exchange(1), &got).Wait(), absl::OkStatus());
  EXPECT_EQ(first.Wait(), absl::OkStatus());
  EXPECT_TRUE(got == data);
}

TEST_P(TransportConformance, TellsTagsApartByEveryPart) {
  Start(2);
  const Tag tags[] = {{Channel::kExchange, 1, 2},    {Channel::kExchange, 2, 1},
                      {Channel::kExchange, 1, 1},    {Channel::kCollective, 1, 2},
                      {Channel::kTrade, 1, 2},       {Channel::kExchange, 1ull << 40, 2},
                      {Channel::kTrade, 1, 1u << 31}};
  std::vector<std::vector<uint8_t>> data, got(std::size(tags), std::vector<uint8_t>(100));
  std::vector<Op> ops;
  for (size_t i = 0; i < std::size(tags); ++i) data.push_back(Pattern(i, 100));
  for (size_t i = 0; i < std::size(tags); ++i) ops.push_back(Send(0, 1, tags[i], data[i]));
  for (size_t i = std::size(tags); i-- > 0;) ops.push_back(Recv(1, 0, tags[i], &got[i]));
  for (Op& op : ops) ASSERT_EQ(op.Wait(), absl::OkStatus());
  for (size_t i = 0; i < std::size(tags); ++i) EXPECT_TRUE(got[i] == data[i]) << i;
}

TEST_P(TransportConformance, ReportsASizeThatDiffersInEitherOrder) {
  Start(2);
  const std::vector<uint8_t> data = Pattern(1, 2'500'000), next = Pattern(2, 10);
  std::vector<uint8_t> small(100), big(3'000'000), got(10);
  Op before = Recv(1, 0, Exchange(1), &small);
  Op s1 = Send(0, 1, Exchange(1), data);
  EXPECT_EQ(before.Wait().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(s1.Wait(), absl::OkStatus());
  EXPECT_EQ(Send(0, 1, Exchange(2), data).Wait(), absl::OkStatus());
  EXPECT_EQ(Recv(1, 0, Exchange(2), &big).Wait().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Send(0, 1, Exchange(3), next).Wait(), absl::OkStatus());
  EXPECT_EQ(Recv(1, 0, Exchange(3), &got).Wait(), absl::OkStatus());
  EXPECT_TRUE(got == next);
}

TEST_P(TransportConformance, CancelEndsAPendingRecvAndDropsItsMessage) {
  Start(2);
  std::vector<uint8_t> buffer(8, 0x11), got(8);
  Op recv = Recv(1, 0, Exchange(1), &buffer);
  groups_[1]->CancelRecv(0, Exchange(1));
  groups_[1]->CancelRecv(0, Exchange(99));  // nothing pending: nothing happens
  EXPECT_EQ(recv.Wait().code(), StatusCode::kCancelled);
  EXPECT_EQ(Send(0, 1, Exchange(1), Pattern(1, 8)).Wait(), absl::OkStatus());
  const std::vector<uint8_t> data = Pattern(2, 8);
  EXPECT_EQ(Send(0, 1, Exchange(99), data).Wait(), absl::OkStatus());
  EXPECT_EQ(Recv(1, 0, Exchange(99), &got).Wait(), absl::OkStatus());
  EXPECT_TRUE(got == data);
  EXPECT_EQ(buffer, std::vector<uint8_t>(8, 0x11));
  EXPECT_EQ(groups_[1]->stats().dropped_stale, 1u);
}

TEST_P(TransportConformance, CancelRacingWithArrivalEndsEveryRecvOnce) {
  Start(2);
  constexpr int kMessages = 200;
  const std::vector<uint8_t> data = Pattern(1, 20'000);
  std::vector<std::vector<uint8_t>> got(kMessages, std::vector<uint8_t>(data.size()));
  std::vector<Op> sends, recvs;
  for (int i = 0; i < kMessages; ++i) recvs.push_back(Recv(1, 0, Exchange(i), &got[i]));
  for (int i = 0; i < kMessages; ++i) {
    sends.push_back(Send(0, 1, Exchange(i), data));
    groups_[1]->CancelRecv(0, Exchange(kMessages - 1 - i));
  }
  for (int i = 0; i < kMessages; ++i) {
    const absl::Status status = recvs[i].Wait();
    if (status.ok()) {
      EXPECT_TRUE(got[i] == data) << i;
    } else {
      EXPECT_EQ(status.code(), StatusCode::kCancelled);
    }
    EXPECT_EQ(sends[i].Wait(), absl::OkStatus());
  }
}

TEST_P(TransportConformance, ExpireEndsWhatIsOverAndNothingElse) {
  Start(2);
  std::vector<uint8_t> a(8), b(8), c(8), got(8);
  const std::vector<uint8_t> data = Pattern(4, 8);
  Op old = Recv(1, 0, Exchange(3), &a), live = Recv(1, 0, Exchange(4), &b);
  Op other = Recv(1, 0, {Channel::kTrade, 1, 0}, &c);
  EXPECT_EQ(Send(0, 1, Exchange(2), data).Wait(), absl::OkStatus());  // waits, then is dropped
  Meet(0, 1);                                                         // has arrived now
  groups_[1]->Expire(Channel::kExchange, 4);
  groups_[1]->Expire(Channel::kExchange, 2);  // monotonic: no effect
  EXPECT_EQ(old.Wait().code(), StatusCode::kCancelled);
  EXPECT_EQ(Recv(1, 0, Exchange(2), &got).Wait().code(), StatusCode::kCancelled);
  EXPECT_EQ(Send(0, 1, Exchange(1), data).Wait(), absl::OkStatus());  // late: dropped
  EXPECT_EQ(Send(0, 1, Exchange(4), data).Wait(), absl::OkStatus());
  EXPECT_EQ(Send(0, 1, {Channel::kTrade, 1, 0}, data).Wait(), absl::OkStatus());
  EXPECT_EQ(live.Wait(), absl::OkStatus());
  EXPECT_EQ(other.Wait(), absl::OkStatus());
  EXPECT_TRUE(b == data && c == data);
  EXPECT_EQ(groups_[1]->stats().dropped_stale, 2u);
}

TEST_P(TransportConformance, ExpireLetsAHeldBackSenderGoOn) {
  TransportOptions options;
  options.unexpected_bytes = 1000;
  Start(2, options);
  const std::vector<uint8_t> big = Pattern(1, 2'000'000), data = Pattern(2, 8);
  std::vector<uint8_t> got(8);
  Op held = Send(0, 1, Exchange(1), big), next = Send(0, 1, Exchange(2), data);
  Op recv = Recv(1, 0, Exchange(2), &got);
  groups_[1]->Expire(Channel::kExchange, 2);
  EXPECT_EQ(recv.Wait(), absl::OkStatus());
  EXPECT_TRUE(got == data);
  EXPECT_EQ(held.Wait(), absl::OkStatus());
  EXPECT_EQ(next.Wait(), absl::OkStatus());
}

TEST_P(TransportConformance, KeepsMessagesForAViewThatIsJoinedLater) {
  Start(2);
  const View next = MakeView(2);
  auto early = Join(0, next);
  const std::vector<uint8_t> data = Pattern(8, 3'000'000);
  Op send = Send(*early, 1, Exchange(1), data);
  Meet(0, 1);  // the old view goes on meanwhile
  auto late = Join(1, next);
  std::vector<uint8_t> got(data.size());
  EXPECT_EQ(Recv(*late, 0, Exchange(1), &got).Wait(), absl::OkStatus());
  EXPECT_TRUE(got == data);
  EXPECT_EQ(send.Wait(), absl::OkStatus());
}

TEST_P(TransportConformance, KeepsTwoOpenViewsApart) {
  Start(2);
  const View next = MakeView(2);
  auto new0 = Join(0, next), new1 = Join(1, next);
  const std::vector<uint8_t> old_data = Pattern(1, 1000), new_data = Pattern(2, 1000);
  std::vector<uint8_t> old_got(1000), new_got(1000);
  Op r1 = Recv(*new1, 0, Exchange(5), &new_got), r2 = Recv(1, 0, Exchange(5), &old_got);
  Op s1 = Send(0, 1, Exchange(5), old_data), s2 = Send(*new0, 1, Exchange(5), new_data);
  for (Op* op : {&r1, &r2, &s1, &s2}) ASSERT_EQ(op->Wait(), absl::OkStatus());
  EXPECT_TRUE(old_got == old_data && new_got == new_data);
}

TEST_P(TransportConformance, DropsAndCountsMessagesOfAViewThatIsPast) {
  Start(2);
  const View next = MakeView(2);
  groups_[1].reset();
  auto new1 = Join(1, next);
  std::vector<uint8_t> got(8);
  Op recv = Recv(*new1, 0, Exchange(1), &got);
  Send(0, 1, Exchange(1), Pattern(1, 8)).Wait().IgnoreError();
  EXPECT_TRUE(Eventually([&] { return new1->stats().dropped_stale > 0; }));
  EXPECT_FALSE(recv.done());
  auto new0 = Join(0, next);
  const std::vector<uint8_t> data = Pattern(2, 8);
  EXPECT_EQ(Send(*new0, 1, Exchange(1), data).Wait(), absl::OkStatus());
  EXPECT_EQ(recv.Wait(), absl::OkStatus());
  EXPECT_TRUE(got == data);
}

TEST_P(TransportConformance, DropsAndCountsMessagesOfAnotherJob) {
  TransportOptions options;
  options.join_grace = absl::Milliseconds(50);
  Start(2, options);
  auto other = Join(0, view_, "another-job");
  std::vector<uint8_t> got(8);
  Op recv = Recv(1, 0, Exchange(1), &got);
  Send(*other, 1, Exchange(1), Pattern(1, 8)).Wait().IgnoreError();
  EXPECT_TRUE(Eventually([&] { return groups_[1]->stats().dropped_stale > 0; }));
  EXPECT_FALSE(recv.done());
  const std::vector<uint8_t> data = Pattern(2, 8);
  EXPECT_EQ(Send(0, 1, Exchange(1), data).Wait(), absl::OkStatus());
  EXPECT_EQ(recv.Wait(), absl::OkStatus());
  EXPECT_TRUE(got == data);
}

TEST_P(TransportConformance, RefusesToJoinWithoutAPlaceInTheView) {
  Start(2);
  View view = MakeView(5);
  EXPECT_EQ(transports_[0]->Join("job", view, 2).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(transports_[0]->Join("job", view, -1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(transports_[0]->Join("job", view, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(transports_[0]->Join("job", view_, 0).status().code(), StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace gg
