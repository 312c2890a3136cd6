// SPDX-License-Identifier: Apache-2.0
//
// One outgoing connection, made without blocking and without a resolver or proxy in between, and
// kept in hand while gRPC uses it: Shutdown() makes whatever is stuck in it fail at once.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_SOCKET_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_SOCKET_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/transport/grpc/address.h"

namespace gg {

class Socket {
 public:
  // Begins to connect. kUnavailable names the target and the system's reason.
  static absl::StatusOr<Socket> Dial(const DialTarget& target);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;
  ~Socket();

  // True: connected. False: not yet, ask again. kUnavailable: it failed.
  absl::StatusOr<bool> Connected();
  const std::string& target() const { return target_; }
  // A second descriptor of the same connection, for an owner that closes it.
  absl::StatusOr<int> Duplicate() const;
  void Shutdown();

 private:
  Socket(int fd, std::string target) : fd_(fd), target_(std::move(target)) {}
  absl::Status Error(int code, absl::string_view what) const;

  int fd_;
  std::string target_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_SOCKET_H_
