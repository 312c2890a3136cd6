// SPDX-License-Identifier: Apache-2.0
//
// How bytes get from one worker to another. A Transport is one process's end; Join() opens it
// towards the members of one view as a PeerGroup, on which tagged messages are sent and received by
// rank. To write a new transport: a folder worker/transport/<name>/ with one factory, a line in the
// registry of worker/daemon, and the conformance suite of tests/conformance/transport instantiated
// for it.
//
// The contract, all of it tested by that suite:
//  * A Done runs exactly once, never inside the call that was given it, on a thread of the transport.
//    It must not block and must not call back into the transport except Send, Recv and CancelRecv.
//  * Memory is lent from the call until its Done: the sender's may not be changed, the receiver's not
//    be read.
//  * Tags match exactly. A message may arrive before its Recv is posted: it waits, up to
//    TransportOptions::unexpected_bytes per peer; beyond that the peer is held back (its Sends stay
//    pending), nothing is lost.
//  * Two messages with the same tag between the same two ranks are an error of the caller
//    (kAlreadyExists).
//  * Messages to one peer on one channel arrive in the order they were sent; different peers are
//    independent.
//  * A message arrives whole and checked or not at all (kDataLoss on a checksum error): a receiver's
//    Done(OK) means that every byte is there. A receiver whose size differs from the message's gets
//    kInvalidArgument.
//  * Messages of another job or view are dropped and counted, never delivered.
//  * The loss of a peer ends that peer's operations with kUnavailable, others go on.
//
// Send's Done(OK) means that the memory is free again, not that the peer has read it.
//
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_TRANSPORT_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_TRANSPORT_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/ids.h"

namespace gg {

using ConstBytes = absl::Span<const uint8_t>;
using Bytes = absl::Span<uint8_t>;
using Done = absl::AnyInvocable<void(absl::Status)>;

// What a message is for. The numbers are part of the wire contract.
enum class Channel : uint16_t {
  kExchange = 1,  // gradients, weights, momentum; step = round of the exchange, block = unit
  kCollective =
      2,       // phases of an all-reduce; step = running number of the collective, block = phase
  kTrade = 3,  // samples on the ring; what step and block mean: worker/trade/ring_link.h
};

// On the wire a tag is accompanied by job and view, which the group adds.
struct Tag {
  Channel channel;
  uint64_t step;
  uint32_t block;
  friend auto operator<=>(const Tag&, const Tag&) = default;
};

struct PeerStats {
  uint64_t sent_messages = 0, sent_bytes = 0;          // completed Sends, payload bytes
  uint64_t received_messages = 0, received_bytes = 0;  // completed Recvs, payload bytes
  uint64_t dropped_stale = 0, dropped_checksum = 0;
};

// One process's end of one view. Destroying it ends all its operations with kCancelled before it
// returns.
class PeerGroup {
 public:
  virtual ~PeerGroup() = default;
  virtual const View& view() const = 0;
  virtual Rank self() const = 0;

  // `to` and `from` are ranks of the view other than self(); anything else is kInvalidArgument
  // through Done. An empty message is allowed.
  virtual void Send(Rank to, Tag tag, ConstBytes from, Done done) = 0;
  virtual void Recv(Rank from, Tag tag, Bytes into, Done done) = 0;

  // Gives up a pending Recv: its Done runs soon with kCancelled, or with what it was about to run
  // with. A message that arrives for it later is dropped. Nothing happens when no such Recv is
  // pending.
  virtual void CancelRecv(Rank from, Tag tag) = 0;

  // Everything on `channel` with a step below `step` is over: pending Recvs end with kCancelled,
  // waiting and later messages are dropped and counted. Monotonic per channel.
  virtual void Expire(Channel channel, uint64_t step) = 0;

  virtual PeerStats stats() const = 0;  // sum over the peers
  virtual std::string DescribePeer(
      Rank peer) const = 0;  // "grpc over unix socket, connected", for humans
};

struct TransportOptions {
  size_t unexpected_bytes = 256 << 20;  // per peer
  size_t chunk_bytes = 1 << 20;         // largest piece of a message on the wire
  // Members join a view at different moments: how long a peer that is first is kept waiting,
  // nothing lost, before it is told that this end is not in that view.
  absl::Duration join_grace = absl::Seconds(30);
};

class Transport {
 public:
  virtual ~Transport() = default;  // its groups have been destroyed
  virtual absl::string_view name() const = 0;
  // What the coordinator hands to the other members as Member::address.
  virtual std::string local_address() const = 0;
  // Opens the view for `job_id`. view.members[self].address must be local_address(). Connections
  // are made when first used. Several groups may be open at once (an old view drains while the next
  // begins).
  virtual absl::StatusOr<std::unique_ptr<PeerGroup>> Join(absl::string_view job_id,
                                                          const View& view, Rank self) = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_TRANSPORT_H_
