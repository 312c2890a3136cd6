// SPDX-License-Identifier: Apache-2.0
//
// How a worker is reached over gRPC: "grpc:10.0.0.7:4712;unix=gossipgrad-...;host=<boot>+<network
// namespace>". The Unix socket (an abstract name) is for those whose host= is the same: abstract
// names belong to a network namespace.
//
// Thread-safety: pure functions; ResolveTargets may block in the resolver for names, never for IP
// addresses.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_ADDRESS_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gg {

struct GrpcAddress {
  std::string host;  // IP address or name, an IPv6 address without brackets
  int port = 0;
  std::string unix_name;  // abstract socket, "" = none
  std::string host_id;    // "" = unknown
  std::string ToString() const;
};

// kInvalidArgument says what is wrong with which text. Unknown parts are ignored.
absl::StatusOr<GrpcAddress> ParseGrpcAddress(absl::string_view text);
// "host:port" or "[v6]:port".
absl::Status ParseHostPort(absl::string_view text, std::string* host, int* port);
std::string JoinHostPort(absl::string_view host, int port);

// Boot and network namespace of this process; "" where the system does not tell.
std::string LocalHostId();

// One way to a peer.
struct DialTarget {
  sockaddr_storage address = {};
  socklen_t length = 0;
  std::string text;  // "unix socket", "tcp 127.0.0.1:4712"
};

// Best first. kUnavailable: the name is not known.
absl::StatusOr<std::vector<DialTarget>> ResolveTargets(const GrpcAddress& peer,
                                                       absl::string_view own_host_id);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_ADDRESS_H_
