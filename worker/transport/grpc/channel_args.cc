// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/channel_args.h"

#include <grpc/grpc.h>

#include <climits>
#include <string>

#include "worker/transport/grpc/frame.h"

namespace gg {
namespace {

struct IntArgument {
  const char* name;
  int value;
};

constexpr IntArgument kBothEnds[] = {
    // One HTTP/2 frame per chunk; the default of 16 KiB costs a header and a slice for each.
    {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes},
    // The window of a stream, and with it what a held-back sender can still get rid of.
    {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16 << 20},
    {GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 16 << 20},
    {GRPC_ARG_HTTP2_BDP_PROBE, 0},  // no pings that a busy peer answers late
    {GRPC_ARG_TCP_READ_CHUNK_SIZE, 1 << 20},
    {GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, 256 << 10},
    {GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, 4 << 20},
    {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
    // No pings of gRPC's own either: a stopped or swapping peer is late, not dead. The kernel's
    // keep-alive finds dead
    // hosts (socket.cc).
    {GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX},
    {GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0},
};

constexpr char kThroughput[] = "throughput";

}  // namespace

grpc::ChannelArguments LinkChannelArguments() {
  grpc::ChannelArguments arguments;
  for (const IntArgument& a : kBothEnds) arguments.SetInt(a.name, a.value);
  arguments.SetString(GRPC_ARG_OPTIMIZATION_TARGET, kThroughput);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "gossipgrad");
  arguments.SetMaxSendMessageSize(kMaxFrameBytes);
  arguments.SetMaxReceiveMessageSize(64 << 10);  // a StreamClosed
  return arguments;
}

void SetLinkArguments(grpc::ServerBuilder* builder) {
  for (const IntArgument& a : kBothEnds) builder->AddChannelArgument(a.name, a.value);
  builder->AddChannelArgument(GRPC_ARG_OPTIMIZATION_TARGET, std::string(kThroughput));
  // Two servers on one port would share its connections between them.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A link is one stream on its own connection.
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 16);
  builder->SetMaxReceiveMessageSize(kMaxFrameBytes);
}

}  // namespace gg
