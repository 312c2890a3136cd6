// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/hierarchical.h"

#include <algorithm>
#include <utility>

namespace gg {

Hierarchical::Hierarchical(Grouping grouping, std::unique_ptr<PartnerSchedule> between)
    : grouping_(std::move(grouping)), between_(std::move(between)) {}

// A single group needs one step.
int Hierarchical::round_length() const {
  return size() == 1 ? 0 : std::max(1, between_->round_length());
}

std::vector<Rank> Hierarchical::Rotation(uint64_t step) const {
  std::vector<Rank> ranks;
  for (const Rank group : between_->Rotation(step)) {
    const std::vector<Rank>& members = grouping_.groups[group];
    ranks.insert(ranks.end(), members.begin(), members.end());
  }
  return ranks;
}

std::vector<Partners> Hierarchical::Table(uint64_t step) const {
  const std::vector<Partners> groups = between_->Table(step);
  std::vector<Partners> table(size());
  for (Rank rank = 0; rank < size(); ++rank) {
    const Partners& partners = groups[grouping_.group_of[rank]];
    const auto member = [&](Rank group) {
      return group < 0 ? -1 : grouping_.groups[group][grouping_.place_of[rank]];
    };
    table[rank] = {member(partners.send_to), member(partners.recv_from)};
  }
  return table;
}

std::vector<Rank> Hierarchical::GroupOf(Rank self) const {
  return grouping_.groups[grouping_.group_of[self]];
}

}  // namespace gg
