// SPDX-License-Identifier: Apache-2.0
//
// Links over gRPC streams: one long-lived stream per directed pair, arena memory sent as slices
// without copying, one progress thread. Peers on the same host are reached over a Unix socket,
// which they find out by themselves.
//
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "worker/transport/transport.h"

namespace gg {

struct GrpcTransportOptions {
  TransportOptions base;
  // "host:port" to listen on; port 0 lets the kernel choose. The address is never guessed from the
  // host's name.
  std::string listen = "127.0.0.1:0";
  // Host that peers are told to use; empty = the host part of `listen` (which then must not be a
  // wildcard).
  std::string advertise_host;
  bool same_host_unix_socket = true;
  absl::Duration connect_timeout = absl::Seconds(10);
};

// kUnavailable: cannot listen, with address and reason. kInvalidArgument: wildcard without
// advertise_host.
absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(const GrpcTransportOptions& options);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
