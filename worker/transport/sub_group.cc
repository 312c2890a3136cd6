// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/sub_group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gg {

SubGroup::SubGroup(PeerGroup& whole, std::vector<Rank> members, Lane lane)
    : whole_(whole), members_(std::move(members)), lane_(lane) {
  view_.number = whole_.view().number;
  for (const Rank member : members_) {
    if (member == whole_.self()) self_ = view_.size();
    view_.members.push_back(whole_.view().members[member]);
  }
}

absl::StatusOr<std::shared_ptr<SubGroup>> SubGroup::Create(PeerGroup& whole,
                                                           std::vector<Rank> members, Lane lane) {
  if (lane.number >= lane.of) {
    return absl::InvalidArgumentError(
        absl::StrCat("sub-group: lane ", lane.number, " of ", lane.of));
  }
  std::vector<Rank> sorted = members;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return absl::InvalidArgumentError("sub-group: a rank is a member twice");
  }
  for (const Rank member : members) {
    if (member >= 0 && member < whole.view().size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("sub-group: rank ", member, " is not in the view of ", whole.view().size()));
  }
  if (!std::binary_search(sorted.begin(), sorted.end(), whole.self())) {
    return absl::InvalidArgumentError(
        absl::StrCat("sub-group: rank ", whole.self(), " itself is not a member"));
  }
  return std::shared_ptr<SubGroup>(new SubGroup(whole, std::move(members), lane));
}

Rank SubGroup::InWhole(Rank rank) const {
  return rank >= 0 && rank < static_cast<Rank>(members_.size()) ? members_[rank] : -1;
}

uint64_t SubGroup::InWhole(Channel channel, uint64_t step) const {
  return channel == Channel::kCollective ? step * lane_.of + lane_.number : step;
}

Done SubGroup::Keep(Done done) {
  return [self = shared_from_this(), done = std::move(done)](absl::Status status) mutable {
    done(std::move(status));
  };
}

void SubGroup::Send(Rank to, Tag tag, ConstBytes from, Done done) {
  whole_.Send(InWhole(to), InWhole(tag), from, Keep(std::move(done)));
}

void SubGroup::Recv(Rank from, Tag tag, Bytes into, Done done) {
  whole_.Recv(InWhole(from), InWhole(tag), into, Keep(std::move(done)));
}

void SubGroup::CancelRecv(Rank from, Tag tag) {
  whole_.CancelRecv(InWhole(from), InWhole(tag));
}

// Rounded down, so that the other lanes keep what has the same number.
void SubGroup::Expire(Channel channel, uint64_t step) {
  whole_.Expire(channel, channel == Channel::kCollective ? step * lane_.of : step);
}

std::string SubGroup::DescribePeer(Rank peer) const {
  return whole_.DescribePeer(InWhole(peer));
}

}  // namespace gg
