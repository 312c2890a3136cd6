// SPDX-License-Identifier: Apache-2.0
//
// The server that takes a transport's incoming streams: one TCP port, one abstract Unix socket, no
// generated service.
//
// Thread-safety: thread-compatible; Shutdown may run while the queue is served.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_LISTEN_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_LISTEN_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/transport/grpc/address.h"

namespace gg {

class Listener {
 public:
  // Errors as MakeGrpcTransport.
  static absl::StatusOr<std::unique_ptr<Listener>> Make(const std::string& listen,
                                                        const std::string& advertise_host,
                                                        bool unix_socket);

  const GrpcAddress& address() const { return address_; }
  grpc::AsyncGenericService* service() { return &service_; }
  std::unique_ptr<grpc::ServerCompletionQueue> TakeQueue() { return std::move(queue_); }
  // Cancels all calls and takes no more. The queue must be served meanwhile.
  void Shutdown();

 private:
  Listener() = default;

  GrpcAddress address_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_LISTEN_H_
