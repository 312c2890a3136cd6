// SPDX-License-Identifier: Apache-2.0
//
// Some of the members of a group as a group of their own: ranks 0 .. n-1 stand for `members`. What was
// written for a whole view works among them unchanged.
//
// Several sub-groups of one group go on at the same time. The numbers of their collectives are
// spread, number n of lane l of L becoming n L + l, so that two lanes never use the same tag and the
// order of numbers, by which Expire goes, is kept. For that all collectives of the group have to run
// in lanes of the same L. The other channels are not touched: only one sub-group may use them.
//
// Expire ends what is old at all peers of the whole group: a lane's number must not be far ahead of
// what another lane still waits for.
//
// Thread-safety: as PeerGroup. The whole group must outlive the last operation; a sub-group lives
// until its last Done has run, and does not end its operations when it is let go of.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_SUB_GROUP_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_SUB_GROUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/transport/transport.h"

namespace gg {

class SubGroup final : public PeerGroup, public std::enable_shared_from_this<SubGroup> {
 public:
  struct Lane {
    uint64_t number = 0;
    uint64_t of = 1;
  };
  // `members` are ranks of `whole`, its own among them. kInvalidArgument: one that it does not have,
  // one twice, not its own, or a lane that is not one of its number.
  static absl::StatusOr<std::shared_ptr<SubGroup>> Create(PeerGroup& whole,
                                                          std::vector<Rank> members, Lane lane);

  const View& view() const override { return view_; }
  Rank self() const override { return self_; }
  void Send(Rank to, Tag tag, ConstBytes from, Done done) override;
  void Recv(Rank from, Tag tag, Bytes into, Done done) override;
  void CancelRecv(Rank from, Tag tag) override;
  void Expire(Channel channel, uint64_t step) override;
  PeerStats stats() const override { return whole_.stats(); }  // of the whole group
  std::string DescribePeer(Rank peer) const override;

 private:
  SubGroup(PeerGroup& whole, std::vector<Rank> members, Lane lane);
  // The rank in the whole group; one that this group does not have becomes one that none has.
  Rank InWhole(Rank rank) const;
  Tag InWhole(Tag tag) const { return {tag.channel, InWhole(tag.channel, tag.step), tag.block}; }
  uint64_t InWhole(Channel channel, uint64_t step) const;
  Done Keep(Done done);  // this sub-group until `done` has run

  PeerGroup& whole_;
  const std::vector<Rank> members_;
  const Lane lane_;
  View view_;
  Rank self_ = -1;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_SUB_GROUP_H_
