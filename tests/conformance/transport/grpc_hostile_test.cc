// SPDX-License-Identifier: Apache-2.0
// A client that does not keep to peer.proto: it is refused and counted, and nobody else notices.
#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gossipgrad/v1/peer.grpc.pb.h"
#include "tests/conformance/transport/transport_suite.h"
#include "worker/transport/grpc/address.h"
#include "worker/transport/grpc/frame.h"
#include "worker/transport/grpc/grpc_transport.h"

namespace gg {
namespace {

using absl::StatusCode;
using gossipgrad::v1::Frame;
using gossipgrad::v1::StreamClosed;

// Ranks 0 and 1 are honest; rank 2 of the view is the client.
class GrpcHostile : public ::testing::Test {
 protected:
  void SetUp() override {
    GrpcTransportOptions options;
    options.base.unexpected_bytes = 4 << 20;
    options.base.join_grace = absl::Milliseconds(300);
    for (int i = 0; i < 2; ++i) transports_.push_back(*MakeGrpcTransport(options));
    view_ = View{1,
                 {{"worker-0", transports_[0]->local_address()},
                  {"worker-1", transports_[1]->local_address()},
                  {"worker-2", "grpc:127.0.0.1:1"}}};
    for (int i = 0; i < 2; ++i) groups_.push_back(*transports_[i]->Join("job", view_, i));
    address_ = *ParseGrpcAddress(transports_[0]->local_address());
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(absl::StrCat("ipv4:127.0.0.1:", address_.port),
                                         grpc::InsecureChannelCredentials(), arguments);
  }
  void TearDown() override {
    // The honest two are as well as before.
    std::vector<uint8_t> data = Pattern(1, 2'000'000), got(data.size());
    Op recv(
        [&](Done done) { groups_[0]->Recv(1, Exchange(9), absl::MakeSpan(got), std::move(done)); });
    Op send([&](Done done) { groups_[1]->Send(0, Exchange(9), data, std::move(done)); });
    EXPECT_EQ(recv.Wait(), absl::OkStatus());
    EXPECT_EQ(send.Wait(), absl::OkStatus());
    EXPECT_TRUE(got == data);
  }

  static Frame HelloFrame() {
    Frame frame;
    auto* hello = frame.mutable_hello();
    hello->set_protocol_version(kPeerProtocolVersion);
    hello->set_job_id("job");
    hello->set_view(1);
    hello->set_from_rank(2);
    hello->set_to_rank(0);
    hello->set_worker_id("worker-2");
    return frame;
  }
  static Frame ChunkFrame(uint64_t total, uint64_t offset, const std::string& chunk) {
    Frame frame;
    frame.set_channel(1);
    frame.set_step(1);
    frame.set_message_bytes(total);
    frame.set_offset(offset);
    frame.set_checksum(ChunkChecksum(reinterpret_cast<const uint8_t*>(chunk.data()), chunk.size()));
    frame.set_chunk(chunk);
    return frame;
  }

  // Sends the frames on one stream and returns what the worker says to that: the reason of its
  // refusal, or "" when there is none within the patience of a second.
  StreamClosed Say(const std::vector<std::string>& frames) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    auto call = stub.PrepareCall(&context, kExchangeMethod, &queue);
    const auto wait = [&] {
      void* tag;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    call->StartCall(nullptr);
    bool up = wait();
    for (const std::string& frame : frames) {
      if (!up) break;
      const grpc::Slice slice(frame);
      call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      up = wait();
    }
    StreamClosed closed;
    grpc::ByteBuffer buffer;
    call->Read(&buffer, nullptr);
    if (wait()) {
      grpc::ProtoBufferReader reader(&buffer);
      EXPECT_TRUE(closed.ParseFromZeroCopyStream(&reader));
      call->Read(&buffer, nullptr);
      wait();
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    queue.Shutdown();
    while (wait()) {
    }
    if (closed.reason().empty()) closed.set_reason(status.error_message());
    return closed;
  }
  StreamClosed Say(const std::vector<Frame>& frames) {
    std::vector<std::string> texts;
    for (const Frame& frame : frames) texts.push_back(frame.SerializeAsString());
    return Say(texts);
  }
  PeerStats Stats() { return groups_[0]->stats(); }

  View view_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
  GrpcAddress address_;
  std::shared_ptr<grpc::Channel> channel_;
};

void ExpectRefused(const StreamClosed& closed, StatusCode code, absl::string_view reason) {
  EXPECT_EQ(closed.code(), static_cast<int>(code)) << closed.reason();
  EXPECT_TRUE(absl::StrContains(closed.reason(), reason)) << closed.reason();
}

TEST_F(GrpcHostile, GarbageOnTheSocketIsShruggedOff) {
  for (int i = 0; i < 5; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(address_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::vector<uint8_t> garbage = Pattern(i, 10'000);
    (void)!send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    close(fd);
  }
}

TEST_F(GrpcHostile, GarbageInAFrameIsRefused) {
  const std::vector<uint8_t> garbage = Pattern(3, 5000);
  ExpectRefused(Say(std::vector<std::string>{std::string(garbage.begin(), garbage.end())}),
                StatusCode::kInvalidArgument, "malformed frame");
  EXPECT_EQ(Stats().dropped_stale, 1u);
}

TEST_F(GrpcHostile, AFrameBeyondTheLimitIsRefused) {
  // By gRPC itself, which gives the reason in the status.
  const StreamClosed closed = Say({std::string(kMaxFrameBytes + 1, 'x')});
  EXPECT_FALSE(closed.reason().empty());
}

TEST_F(GrpcHostile, TheFirstFrameMustBeAHello) {
  ExpectRefused(Say({ChunkFrame(4, 0, "abcd")}), StatusCode::kInvalidArgument, "Hello");
  ExpectRefused(Say({HelloFrame(), HelloFrame()}), StatusCode::kInvalidArgument, "second Hello");
  EXPECT_EQ(Stats().dropped_stale, 1u);
  EXPECT_EQ(Stats().dropped_checksum, 1u);
}

TEST_F(GrpcHostile, AHelloThatDoesNotFitTheViewIsRefused) {
  Frame version = HelloFrame(), to = HelloFrame(), from = HelloFrame(), self = HelloFrame(),
        name = HelloFrame(), old = HelloFrame(), later = HelloFrame();
  version.mutable_hello()->set_protocol_version(77);
  to.mutable_hello()->set_to_rank(1);
  from.mutable_hello()->set_from_rank(-5);
  self.mutable_hello()->set_from_rank(0);
  name.mutable_hello()->set_worker_id("worker-9");
  old.mutable_hello()->set_view(0);
  later.mutable_hello()->set_view(2);
  ExpectRefused(Say({version}), StatusCode::kFailedPrecondition, "protocol version 77");
  ExpectRefused(Say({to}), StatusCode::kInvalidArgument, "no pair of view 1");
  ExpectRefused(Say({from}), StatusCode::kInvalidArgument, "no pair of view 1");
  ExpectRefused(Say({self}), StatusCode::kInvalidArgument, "no pair of view 1");
  ExpectRefused(Say({name}), StatusCode::kInvalidArgument, "worker-9");
  ExpectRefused(Say({old}), StatusCode::kFailedPrecondition, "not in view 0");
  ExpectRefused(Say({later}), StatusCode::kFailedPrecondition, "has not joined view 2");
  EXPECT_EQ(Stats().dropped_stale, 7u);
}

TEST_F(GrpcHostile, AStreamThatSaysNothingIsEnded) {
  ExpectRefused(Say(std::vector<std::string>{}), StatusCode::kDeadlineExceeded, "no Hello");
}

TEST_F(GrpcHostile, ChunksThatDoNotFitTogetherAreRefused) {
  const Frame hello = HelloFrame();
  const struct {
    std::vector<Frame> frames;
    const char* reason;
  } cases[] = {
      {{hello, ChunkFrame(10, 8, "abcd")}, "bytes 8 to 12 of a message of 10"},
      {{hello, ChunkFrame(10, UINT64_MAX - 1, "abcd")}, "of a message of 10"},
      {{hello, ChunkFrame(10, 4, "abcd")}, "begins at offset 4"},
      {{hello, ChunkFrame(10, 0, "abcdef"), ChunkFrame(10, 4, "efgh")}, "offset 4"},
      {{hello, ChunkFrame(10, 0, "abcd"), ChunkFrame(10, 6, "gh")}, "offset 6"},
      {{hello, ChunkFrame(10, 0, "abcd"), ChunkFrame(12, 4, "ef")}, "offset 4"},
      {{hello, ChunkFrame(10, 0, "")}, "an empty chunk"},
      {{hello, ChunkFrame(0, 0, "abcd")}, "of a message of 0"},
  };
  uint64_t refused = 0;
  for (const auto& c : cases) {
    ExpectRefused(Say(c.frames), StatusCode::kInvalidArgument, c.reason);
    EXPECT_EQ(Stats().dropped_checksum, ++refused) << c.reason;
  }
  Frame channel = ChunkFrame(4, 0, "abcd");
  channel.set_channel(9);
  ExpectRefused(Say({hello, channel}), StatusCode::kInvalidArgument, "channel 9");
}

TEST_F(GrpcHostile, AWrongChecksumReachesTheRecvAsDataLoss) {
  std::vector<uint8_t> got(4);
  Op recv(
      [&](Done done) { groups_[0]->Recv(2, Exchange(1), absl::MakeSpan(got), std::move(done)); });
  Frame frame = ChunkFrame(4, 0, "abcd");
  frame.set_checksum(frame.checksum() ^ 1);
  ExpectRefused(Say({HelloFrame(), frame}), StatusCode::kDataLoss, "checksum");
  EXPECT_EQ(recv.Wait().code(), StatusCode::kDataLoss);
  EXPECT_EQ(Stats().dropped_checksum, 1u);
}

TEST_F(GrpcHostile, AMessageCutOffByTheEndOfItsStreamIsNotDelivered) {
  std::vector<uint8_t> got(8, 0xEE);
  Op recv(
      [&](Done done) { groups_[0]->Recv(2, Exchange(1), absl::MakeSpan(got), std::move(done)); });
  // Refused for what comes second; the first message is whole, the next never is.
  Say({HelloFrame(), ChunkFrame(8, 0, "abcd"), HelloFrame()});
  EXPECT_EQ(recv.Wait().code(), StatusCode::kUnavailable);
}

TEST_F(GrpcHostile, AClaimedSizeSetsNothingAside) {
  // Far beyond the bound and with no Recv: the client is held back until it gives up.
  const uint64_t huge = 1ull << 50;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  auto call = stub.PrepareCall(&context, kExchangeMethod, &queue);
  void* tag;
  bool ok = false;
  call->StartCall(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  for (const Frame& frame : {HelloFrame(), ChunkFrame(huge, 0, std::string(1000, 'x'))}) {
    const grpc::Slice slice(frame.SerializeAsString());
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  // A Recv for it learns that the sizes differ, or that the client is gone.
  std::vector<uint8_t> got(8);
  Op recv(
      [&](Done done) { groups_[0]->Recv(2, Exchange(1), absl::MakeSpan(got), std::move(done)); });
  EXPECT_FALSE(recv.Wait().ok());
}

TEST_F(GrpcHostile, OtherMethodsGetASentence) {
  auto stub = gossipgrad::v1::PeerService::NewStub(channel_);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  auto reader = stub->PullState(&context, {});
  gossipgrad::v1::StateChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace gg
