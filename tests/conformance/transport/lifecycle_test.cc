// SPDX-License-Identifier: Apache-2.0
// Ends: groups that are destroyed, peers that go and come back.
#include <algorithm>

#include "absl/strings/match.h"
#include "tests/conformance/transport/transport_suite.h"

namespace gg {
namespace {

using absl::StatusCode;

TEST_P(TransportConformance, DestructionEndsEverythingBeforeItReturns) {
  TransportOptions options;
  options.unexpected_bytes = 1000;
  Start(2, options);
  Meet(0, 1);
  std::vector<uint8_t> data = Pattern(1, GetParam().path_bytes + (8 << 20));
  std::vector<std::vector<uint8_t>> into(20, std::vector<uint8_t>(100));
  std::vector<Op> ops;
  for (int i = 0; i < 3; ++i) ops.push_back(Send(0, 1, Exchange(i), data));
  for (int i = 0; i < 20; ++i) ops.push_back(Recv(0, 1, Exchange(i), &into[i]));
  groups_[0].reset();
  for (Op& op : ops) {
    ASSERT_TRUE(op.done());
    EXPECT_EQ(op.Wait().code(), StatusCode::kCancelled);
  }
  // The memory is ours again: nobody may read or write it, which the sanitizers watch.
  std::fill(data.begin(), data.end(), 0);
  data = {};
}

// A message that waits ends its Recv at once, in the middle of the call's work: a group destroyed on
// that very news must not be touched any more. The address sanitizer watches.
TEST_P(TransportConformance, DestructionOnTheNewsOfAWaitingMessageIsFine) {
  Start(2);
  const std::vector<uint8_t> data = Pattern(1, 64);
  for (uint64_t number = 2; number < 40; ++number) {
    const View view = MakeView(number);
    std::unique_ptr<PeerGroup> from = Join(0, view), to = Join(1, view);
    std::vector<uint8_t> first(data.size()), second(data.size());
    ASSERT_EQ(Send(*from, 1, Exchange(1), data).Wait(), absl::OkStatus());
    ASSERT_EQ(Send(*from, 1, Exchange(2), data).Wait(), absl::OkStatus());
    ASSERT_EQ(Recv(*to, 0, Exchange(2), &second).Wait(), absl::OkStatus());  // now the first waits
    ASSERT_EQ(Recv(*to, 0, Exchange(1), &first).Wait(), absl::OkStatus());
    to.reset();
    EXPECT_TRUE(first == data && second == data);
  }
}

TEST_P(TransportConformance, DestructionWithNothingDoneIsFine) {
  Start(3);
  groups_[1].reset();
  groups_.clear();
  transports_.clear();
}

TEST_P(TransportConformance, WhatWasSentBeforeTheSenderLeftStillArrives) {
  Start(2);
  const std::vector<uint8_t> data = Pattern(1, 5'000'000);
  ASSERT_EQ(Send(0, 1, Exchange(1), data).Wait(), absl::OkStatus());
  groups_[0].reset();
  std::vector<uint8_t> got(data.size());
  ASSERT_EQ(Recv(1, 0, Exchange(1), &got).Wait(), absl::OkStatus());
  EXPECT_TRUE(got == data);
}

TEST_P(TransportConformance, LeavingEndsTheOperationsOfPeersAndOnlyThose) {
  Start(3);
  Meet(0, 1);
  Meet(1, 2);
  std::vector<uint8_t> a(8), b(8);
  Op lost = Recv(1, 0, Exchange(1), &a), stays = Recv(1, 2, Exchange(1), &b);
  groups_[0].reset();
  const absl::Status status = lost.Wait();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "rank 0 (worker-0)")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "exchange step 1")) << status;
  EXPECT_EQ(Recv(1, 0, Exchange(2), &a).Wait().code(), StatusCode::kUnavailable);
  const std::vector<uint8_t> data = Pattern(1, 8);
  EXPECT_EQ(Send(2, 1, Exchange(1), data).Wait(), absl::OkStatus());
  EXPECT_EQ(stays.Wait(), absl::OkStatus());
  EXPECT_TRUE(b == data);
}

TEST_P(TransportConformance, SendsToAPeerThatLeftEndWithUnavailable) {
  TransportOptions options;
  options.unexpected_bytes = 1000;
  Start(2, options);
  Meet(0, 1);
  const std::vector<uint8_t> data = Pattern(1, GetParam().path_bytes + (8 << 20));
  Op pending = Send(0, 1, Exchange(1), data);
  groups_[1].reset();
  const absl::Status status = pending.Wait();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "rank 1 (worker-1)")) << status;
  transports_[1].reset();
  EXPECT_EQ(Send(0, 1, Exchange(2), data).Wait().code(), StatusCode::kUnavailable);
}

TEST_P(TransportConformance, APeerThatComesBackIsServedAgain) {
  Start(2);
  Meet(0, 1);
  std::vector<uint8_t> buffer(8), got(8);
  for (int round = 0; round < 3; ++round) {
    Op lost = Recv(0, 1, Exchange(10 + round), &buffer);
    groups_[1].reset();
    EXPECT_EQ(lost.Wait().code(), StatusCode::kUnavailable);
    groups_[1] = Join(1, view_);
    const std::vector<uint8_t> data = Pattern(round, 8);
    // The peer speaks first: that is how the loss ends.
    EXPECT_EQ(Send(1, 0, Exchange(20 + round), data).Wait(), absl::OkStatus());
    EXPECT_TRUE(Eventually([&] { return Recv(0, 1, Exchange(20 + round), &got).Wait().ok(); }));
    EXPECT_TRUE(got == data);
    // The way back may need a new connection, which the first Send after the loss finds out.
    EXPECT_TRUE(Eventually([&] { return Send(0, 1, Exchange(30 + round), data).Wait().ok(); }));
    EXPECT_TRUE(Eventually([&] { return Recv(1, 0, Exchange(30 + round), &got).Wait().ok(); }));
  }
}

TEST_P(TransportConformance, APeerThatIsMadeAnewIsReachedInTheNextView) {
  Start(2);
  Meet(0, 1);
  groups_[1].reset();
  transports_[1].reset();
  transports_[1] = world_->Make({});
  const View next = MakeView(2);
  groups_[0] = Join(0, next);
  groups_[1] = Join(1, next);
  Meet(0, 1);
}

}  // namespace
}  // namespace gg
