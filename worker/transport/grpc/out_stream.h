// SPDX-License-Identifier: Apache-2.0
//
// The sending half of a link: one connection, one Exchange call on it, messages cut into chunks
// that stay where they are. It lives from a connected Socket until gRPC has returned every
// operation, which may be after its owner let go.
//
// Thread-safety: the loop's thread only.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_OUT_STREAM_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_OUT_STREAM_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <deque>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "gossipgrad/v1/peer.pb.h"
#include "worker/transport/group.h"
#include "worker/transport/grpc/cq_loop.h"
#include "worker/transport/grpc/frame.h"
#include "worker/transport/grpc/socket.h"

namespace gg {

class OutStream {
 public:
  // `broken` runs at most once, with the reason; never after Detach(). `gone` runs when gRPC has
  // returned everything: the stream may be destroyed, though not inside the call.
  struct Events {
    absl::AnyInvocable<void(const absl::Status&)> broken;
    absl::AnyInvocable<void(OutStream*)> gone;
  };
  // `peer` is what errors call the peer.
  OutStream(CqLoop* loop, std::string peer, Socket socket, gossipgrad::v1::Hello hello,
            uint64_t chunk_bytes, Events events);
  ~OutStream();

  // An error: the connection was lost at once; neither event will run.
  absl::Status Start();
  void Send(OutgoingMessage message);
  // Lets go: messages not wholly written end with `why`. What was written still reaches the peer,
  // unless a message was cut: then the connection is dropped.
  void Detach(const absl::Status& why);
  // Drops the connection.
  void Abort();
  const std::string& target() const { return socket_.target(); }

 private:
  class Lease;

  void OnStarted(bool ok);
  void OnWritten(bool ok);
  void OnRead(bool ok);
  void OnFinished(bool ok);
  void WriteNext();
  void CloseWhenIdle();
  void FinishCall();
  void FailMessages(const absl::Status& why);
  void MaybeGone();

  CqLoop* const loop_;
  const std::string peer_;
  Socket socket_;
  const gossipgrad::v1::Hello hello_;
  const uint64_t chunk_bytes_;
  Events events_;

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer read_buffer_;
  grpc::Status final_status_;
  absl::Status refusal_;  // what the peer said in a StreamClosed

  std::deque<Lease*> messages_;  // the first is being written
  uint64_t offset_ = 0;          // bytes of the first that have been handed to gRPC
  bool in_message_ = false;      // something of the first has been handed to gRPC
  bool started_ = false, writing_ = false, write_failed_ = false, finishing_ = false;
  bool detached_ = false, half_closed_ = false, finished_ = false;
  int operations_ = 0;
  CqEvent start_event_, write_event_, read_event_, finish_event_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_OUT_STREAM_H_
