// SPDX-License-Identifier: Apache-2.0
//
// The receiving half of a link: one Exchange call of a peer. The first frame says who speaks; until
// this end has joined that view the call is parked, not read, which holds the peer back. What
// breaks the rules of peer.proto is refused with a reason, and costs nobody but its sender.
//
// Thread-safety: the loop's thread only.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_IN_STREAM_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_IN_STREAM_H_

#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <optional>
#include <string>

#include "gossipgrad/v1/peer.pb.h"
#include "worker/transport/group.h"
#include "worker/transport/grpc/cq_loop.h"
#include "worker/transport/grpc/frame.h"

namespace gg {

class InStream;

// One open view, as the streams that lead into it see it.
class InStreamOwner {
 public:
  virtual ~InStreamOwner() = default;
  virtual GroupState* group() = 0;
  // The stream now speaks for `peer`. It replaces an older one.
  virtual void Bind(InStream* stream, Rank peer) = 0;
  // It does not any more. `why` is kUnavailable.
  virtual void Unbind(InStream* stream, Rank peer, const absl::Status& why) = 0;
};

// All streams of one transport.
class InStreamHost {
 public:
  virtual ~InStreamHost() = default;
  virtual CqLoop* loop() = 0;
  virtual grpc::AsyncGenericService* service() = 0;
  virtual absl::Duration join_grace() const = 0;
  // A call has come: another one may.
  virtual void Accepted() = 0;
  // Which group a stream with this Hello belongs to. kUnavailable: it may come to be; others are
  // final.
  virtual absl::StatusOr<InStreamOwner*> Find(const gossipgrad::v1::Hello& hello) = 0;
  virtual void CountStale(absl::string_view job_id) = 0;
  // gRPC has returned everything: `stream` may be destroyed, though not inside the call.
  virtual void Gone(InStream* stream) = 0;
};

class InStream {
 public:
  explicit InStream(InStreamHost* host);
  void Accept();  // waits for a call
  // The group may take what it could not before, or the view has been joined.
  void Resume();
  // Tells the peer and ends. The owner is not told; nothing happens when it has ended already.
  void Close(absl::StatusCode code, absl::string_view reason);
  void Abort() { context_.TryCancel(); }

 private:
  enum class State { kHello, kParked, kBound, kClosed };

  void OnCall(bool ok);
  void OnRead(bool ok);
  void OnFinished(bool ok);
  void OnDone(bool ok);
  void Read();
  void HandleFrame();
  void Seat();                 // from Hello to its group
  absl::Status TakeMessage();  // the frame in the buffer
  absl::Status CheckFrame() const;
  void Refuse(const absl::Status& why);
  void End(const absl::Status& why);
  void LeaveOwner(const absl::Status& why);
  void MaybeGone();
  TagMatcher& matcher() { return *owner_->group()->from[peer_]; }

  InStreamHost* const host_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_;
  grpc::ByteBuffer buffer_;
  std::unique_ptr<FrameReader> frame_;  // over buffer_; set while a frame is not wholly taken

  State state_ = State::kHello;
  gossipgrad::v1::Hello hello_;
  InStreamOwner* owner_ = nullptr;
  Rank peer_ = -1;
  bool reading_ = false, held_ = false, finishing_ = false, called_ = false;
  std::optional<Loop::TimerId> timer_;  // a Hello, or a join, is due
  int operations_ = 0;
  CqEvent call_event_, read_event_, finish_event_, done_event_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_IN_STREAM_H_
