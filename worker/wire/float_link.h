// SPDX-License-Identifier: Apache-2.0
//
// Floats over a PeerGroup, in the encoding of the job. fp32 is a plain pass-through: the caller's
// memory is lent to the group, without a copy. Every other encoding is written into buffers of this
// link's own, so that the caller's values are free when Send returns, and decoded before Done runs,
// on the transport's thread. The buffers are used again.
//
// The rounding of a message is drawn from (seed, tag, sender), so that it does not depend on when
// or in which order messages are sent.
//
// Lives until the last Done has run, hence shared ownership. The group must outlive its use.
//
// Thread-safety: thread-safe, as PeerGroup.
#ifndef GOSSIPGRAD_WORKER_WIRE_FLOAT_LINK_H_
#define GOSSIPGRAD_WORKER_WIRE_FLOAT_LINK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/sync.h"
#include "worker/transport/transport.h"
#include "worker/wire/encoding.h"

namespace gg {

class FloatLink : public std::enable_shared_from_this<FloatLink> {
 public:
  static std::shared_ptr<FloatLink> Create(PeerGroup& group, WireFormat format);

  PeerGroup& group() { return group_; }
  const WireFormat& format() const { return format_; }
  // fp32: what is sent is what is received, and memory is lent as PeerGroup has it.
  bool exact() const { return format_.encoding == Encoding::kFp32; }
  size_t WireBytes(size_t values) const { return gg::WireBytes(format_, values); }

  // As PeerGroup::Send and Recv. A Recv may also end with kDataLoss: the bytes are no message.
  void Send(Rank to, Tag tag, ConstFlat values, Done done);
  void Recv(Rank from, Tag tag, Flat values, Done done);
  void CancelRecv(Rank from, Tag tag) { group_.CancelRecv(from, tag); }

  // Whose rounding: every sender draws its own, or all senders of this tag draw the same, so that
  // equal values stay equal.
  enum class Draw { kOwn, kCommon };
  // As Send, and `values` become what the receiver decodes.
  void SendRounded(Rank to, Tag tag, Flat values, Draw draw, Done done);
  // The same without sending.
  void Round(Tag tag, Flat values, Draw draw);

  // For messages in which floats are not alone, and which are put together with Encode and Decode.
  Dither DitherOf(Tag tag, Draw draw) const;

 private:
  using Wire = std::vector<uint8_t>;

  FloatLink(PeerGroup& group, WireFormat format) : group_(group), format_(format) {}
  std::unique_ptr<Wire> Take(size_t bytes);
  void GiveBack(std::unique_ptr<Wire> wire);
  // Sends `wire` and takes it back in the end.
  void SendWire(Rank to, Tag tag, std::unique_ptr<Wire> wire, Done done);

  PeerGroup& group_;
  const WireFormat format_;
  Mutex mu_;
  std::multimap<size_t, std::unique_ptr<Wire>> free_ ABSL_GUARDED_BY(mu_);  // by size
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_WIRE_FLOAT_LINK_H_
