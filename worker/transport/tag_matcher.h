// SPDX-License-Identifier: Apache-2.0
//
// The receiving half of the contract in transport.h, for the messages of one peer: which arriving
// message belongs to which Recv, what waits for a Recv that is not there yet and how much of it,
// what has expired. It knows nothing of the wire: a transport calls Begin for each message, puts
// the bytes where Destination says, and ends it with Commit or Abort; one message at a time, since
// a peer's messages come one after another. Done callbacks run inside these calls, so all of them
// belong on the transport's thread.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_TAG_MATCHER_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_TAG_MATCHER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "worker/transport/counters.h"
#include "worker/transport/transport.h"

namespace gg {

std::string DescribeTag(const Tag& tag);  // "exchange step 7 block 3"

class TagMatcher {
 public:
  // `peer` is what errors call the peer: "rank 2 (worker-c)". `counters` outlives this.
  TagMatcher(std::string peer, size_t unexpected_bytes, TrafficCounters* counters);
  TagMatcher(const TagMatcher&) = delete;
  TagMatcher& operator=(const TagMatcher&) = delete;

  // What the owner of the group asks for.
  void Post(Tag tag, Bytes into, Done done);
  void Cancel(Tag tag);
  void Expire(Channel channel, uint64_t step);
  // Pending and later Recvs end with `why` until SetPresent(); messages that wait stay to be read.
  void SetLost(absl::Status why);
  void SetPresent() { lost_ = absl::OkStatus(); }
  // Everything ends with `why`, now and later.
  void End(const absl::Status& why);

  // What comes from the wire. Begin: false = no room: nothing has changed, the peer is to be held
  // back and Begin to be called again after the next Post, Cancel, Expire or End. True = the
  // message has begun. `bytes` may be anything that a peer claims; no more than `unexpected_bytes`
  // is ever set aside for it.
  bool Begin(Tag tag, uint64_t bytes);
  bool arriving() const { return arriving_.has_value(); }
  uint64_t arriving_bytes() const { return arriving_->bytes; }
  uint64_t arrived() const { return arriving_->received; }  // bytes of it so far
  const Tag& arriving_tag() const { return arriving_->tag; }
  // Where the byte number arrived() goes, and those after it; null: they are thrown away. May
  // change at any other call.
  uint8_t* Destination();
  void Advance(uint64_t bytes);
  void Commit();                        // arrived() == arriving_bytes(), all of them checked
  void Abort(const absl::Status& why);  // torn or corrupt: its Recv, if any, ends with `why`

  uint64_t unexpected_used() const { return unexpected_used_; }

 private:
  struct Posted {
    Bytes into;
    Done done;
  };
  struct Stored {
    std::unique_ptr<uint8_t[]> data;
    uint64_t bytes = 0;
  };
  struct Arriving {
    Tag tag;
    uint64_t bytes = 0, received = 0;
    std::optional<Posted> posted;  // straight into the receiver's memory,
    std::optional<Stored> stored;  // or aside; neither: thrown away
  };

  bool IsExpired(const Tag& tag) const;
  void Release(const Stored& stored);
  void FinishOk(Posted posted);
  absl::Status SizeMismatch(const Tag& tag, uint64_t message, uint64_t recv) const;

  const std::string peer_;
  const uint64_t unexpected_bytes_;
  TrafficCounters* const counters_;
  std::map<Tag, Posted> posted_;
  std::map<Tag, Stored> waiting_;
  std::set<Tag> cancelled_;  // their messages are still to come, and to be dropped
  std::map<Channel, uint64_t> first_live_step_;
  std::optional<Arriving> arriving_;
  uint64_t unexpected_used_ = 0;
  absl::Status lost_;   // not OK: the peer is gone
  absl::Status ended_;  // not OK: the group is closed
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_TAG_MATCHER_H_
