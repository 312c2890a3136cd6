// SPDX-License-Identifier: Apache-2.0
//
// Sends to one peer: connects when there is something to send, waits for a peer that is not up yet,
// fails fast for one that was up and is not any more.
//
// Thread-safety: the loop's thread only.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_OUT_LINK_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_OUT_LINK_H_

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "worker/transport/grpc/out_stream.h"

namespace gg {

// The streams of one transport, from Start until gRPC has returned all of their operations.
class OutStreamSet {
 public:
  // Owns the stream until it is gone.
  void Add(std::unique_ptr<OutStream> stream) { streams_.insert(std::move(stream)); }
  void Remove(Loop* loop, OutStream* stream);
  void AbortAll();
  bool empty() const { return streams_.empty(); }

 private:
  std::set<std::unique_ptr<OutStream>, std::less<>> streams_;
};

class OutLink {
 public:
  struct Options {
    std::string peer_name;  // "rank 2 (worker-c)"
    absl::StatusOr<std::vector<DialTarget>> targets;
    gossipgrad::v1::Hello hello;
    absl::Duration connect_timeout;
    uint64_t chunk_bytes;
  };
  // `down` runs when a stream broke or no connection could be made.
  OutLink(CqLoop* loop, OutStreamSet* streams, Options options,
          absl::AnyInvocable<void(const absl::Status&)> down);
  ~OutLink();  // after Close

  void Send(OutgoingMessage message);
  // Ends everything pending with `why`; the next Send connects anew.
  void Reset(const absl::Status& why);
  // Ends everything pending with `why`. What was sent still arrives.
  void Close(const absl::Status& why);
  std::string Describe() const;

 private:
  void Dial();
  void Attempt();
  void PollConnect();
  void AttemptFailed(const absl::Status& why);
  void Connected();
  void Down(const absl::Status& why);
  void FailWaiting(const absl::Status& why);
  void StopDialing();
  void Schedule(absl::Duration delay, void (OutLink::*next)());

  CqLoop* const loop_;
  OutStreamSet* const streams_;
  const Options options_;
  absl::AnyInvocable<void(const absl::Status&)> down_;

  OutStream* stream_ = nullptr;  // owned by streams_
  std::deque<OutgoingMessage> waiting_;
  bool dialing_ = false, was_connected_ = false;
  std::optional<Socket> socket_;  // while it connects
  size_t target_ = 0;             // index of the one being tried
  absl::Time give_up_, retry_at_ = absl::InfinitePast();
  absl::Duration backoff_;
  std::optional<Loop::TimerId> timer_;
  absl::Status last_error_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_OUT_LINK_H_
