// SPDX-License-Identifier: Apache-2.0
// Peers in processes of their own, which die and stop as processes do.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "absl/strings/match.h"
#include "tests/conformance/transport/child_peer.h"
#include "tests/conformance/transport/transport_suite.h"
#include "worker/transport/grpc/grpc_transport.h"

namespace gg {
namespace {

using absl::StatusCode;

class GrpcProcess : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    GrpcTransportOptions options;
    options.same_host_unix_socket = GetParam();
    options.base.unexpected_bytes = 1 << 20;
    transport_ = *MakeGrpcTransport(options);
    StartChild(1);
  }

  void StartChild(uint64_t view) {
    child_ = std::make_unique<ChildPeer>(GetParam());
    ASSERT_FALSE(child_->address().empty());
    auto group = transport_->Join(
        "job",
        View{view, {{"worker-0", transport_->local_address()}, {"worker-1", child_->address()}}},
        0);
    ASSERT_TRUE(group.ok()) << group.status();
    group_ = *std::move(group);
    child_->TellAddress(transport_->local_address());
  }

  Op Recv(uint64_t step) {
    return Op([&](Done done) {
      group_->Recv(1, Exchange(step), absl::MakeSpan(buffer_), std::move(done));
    });
  }

  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(1'000'000);
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ChildPeer> child_;
  std::unique_ptr<PeerGroup> group_;
};

TEST_P(GrpcProcess, AKilledPeerEndsWhatWaitsForIt) {
  uint64_t step = 0;
  for (; step < 20; ++step) ASSERT_EQ(Recv(step).Wait(), absl::OkStatus());
  child_->KillAndReap();
  // Some more may have been on their way; what follows must end, and name who is lost.
  absl::Status status;
  while (status.ok() && step < 500) status = Recv(step++).Wait();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "rank 1 (worker-1)")) << status;
  EXPECT_EQ(buffer_, std::vector<uint8_t>(buffer_.size(), 7)) << "a torn message was delivered";
}

TEST_P(GrpcProcess, AKilledPeerEndsSendsThatItDoesNotTake) {
  ASSERT_EQ(Recv(0).Wait(), absl::OkStatus());
  const std::vector<uint8_t> big(300 << 20);  // more than the peer holds without a Recv
  Op send([&](Done done) { group_->Send(1, Exchange(0), big, std::move(done)); });
  child_->KillAndReap();
  const absl::Status status = send.Wait();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "rank 1 (worker-1)")) << status;
  // Nobody listens there any more: the next one is refused, not waited for.
  Op next([&](Done done) { group_->Send(1, Exchange(1), buffer_, std::move(done)); });
  EXPECT_EQ(next.Wait().code(), StatusCode::kUnavailable);
}

TEST_P(GrpcProcess, AStoppedPeerIsLateNotLostAndDoesNotKeepUsFromLeaving) {
  ASSERT_EQ(Recv(0).Wait(), absl::OkStatus());
  child_->Signal(SIGSTOP);
  const std::vector<uint8_t> big(300 << 20);
  Op send([&](Done done) { group_->Send(1, Exchange(0), big, std::move(done)); });
  Op recv = Recv(400);
  EXPECT_FALSE(send.done());
  EXPECT_FALSE(recv.done());
  group_.reset();
  EXPECT_EQ(send.Wait().code(), StatusCode::kCancelled);
  EXPECT_EQ(recv.Wait().code(), StatusCode::kCancelled);
  transport_.reset();
}

TEST_P(GrpcProcess, ANewProcessTakesThePlaceOfTheDeadOne) {
  ASSERT_EQ(Recv(0).Wait(), absl::OkStatus());
  child_->KillAndReap();
  group_.reset();
  StartChild(1);
  EXPECT_EQ(Recv(0).Wait(), absl::OkStatus());
}

TEST_P(GrpcProcess, ProxiesOfTheEnvironmentAreNotAsked) {
  child_.reset();
  group_.reset();
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "ALL_PROXY"}) {
    setenv(name, "http://127.0.0.1:1", 1);
  }
  unsetenv("no_proxy");
  StartChild(1);
  EXPECT_EQ(Recv(0).Wait(), absl::OkStatus());
  Op send([&](Done done) { group_->Send(1, Exchange(0), buffer_, std::move(done)); });
  EXPECT_EQ(send.Wait(), absl::OkStatus());
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "ALL_PROXY"}) {
    unsetenv(name);
  }
}

INSTANTIATE_TEST_SUITE_P(Grpc, GrpcProcess, ::testing::Bool(), [](const auto& param_info) {
  return std::string(param_info.param ? "unix" : "tcp");
});

}  // namespace
}  // namespace gg
