// SPDX-License-Identifier: Apache-2.0
//
// One open view on a gRPC transport: a link out to each peer, a stream in from each peer, and the
// rule by which the fate of one decides on the other. A stream from the peer that ends means that
// the peer left or died: the link to it is dropped as well, so that what is sent next meets the
// peer's next incarnation or an error, never a dead connection.
//
// Thread-safety: the loop's thread only.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_GRPC_WIRE_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_GRPC_WIRE_H_

#include <memory>
#include <string>
#include <vector>

#include "worker/transport/group.h"
#include "worker/transport/grpc/in_stream.h"
#include "worker/transport/grpc/out_link.h"

namespace gg {

class GrpcWire;

// The transport as its views see it.
class WireHost {
 public:
  virtual ~WireHost() = default;
  virtual void Opened(GrpcWire* wire) = 0;
  virtual void Closed(GrpcWire* wire) = 0;
};

class GrpcWire final : public Wire, public InStreamOwner {
 public:
  struct Options {
    std::vector<absl::StatusOr<std::vector<DialTarget>>> targets;  // by rank
    absl::Duration connect_timeout;
    uint64_t chunk_bytes;
  };
  GrpcWire(CqLoop* loop, OutStreamSet* streams, WireHost* host, GroupState* group, Options options);

  void Open() override;
  void Send(Rank to, OutgoingMessage message) override;
  void Resume(Rank from) override;
  void Close(Loop::Task closed) override;
  std::string Describe(Rank peer) const override;

  GroupState* group() override { return group_; }
  void Bind(InStream* stream, Rank peer) override;
  void Unbind(InStream* stream, Rank peer, const absl::Status& why) override;

 private:
  void LinkDown(Rank peer, const absl::Status& why);

  WireHost* const host_;
  GroupState* const group_;
  std::vector<std::unique_ptr<OutLink>> links_;  // by rank; null for self
  std::vector<InStream*> streams_;               // by rank; null: none stands
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_GRPC_WIRE_H_
