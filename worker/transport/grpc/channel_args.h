// SPDX-License-Identifier: Apache-2.0
//
// What both ends of a link tell gRPC. Found by measurement (docs/benchmarks/link.md); the names are
// gRPC's own.
//
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CHANNEL_ARGS_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CHANNEL_ARGS_H_

#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

namespace gg {

grpc::ChannelArguments LinkChannelArguments();
void SetLinkArguments(grpc::ServerBuilder* builder);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CHANNEL_ARGS_H_
