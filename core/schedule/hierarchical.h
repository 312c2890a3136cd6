// SPDX-License-Identifier: Apache-2.0
//
// Schedule hierarchical: groups that average their gradients exactly in every step meet each other
// like single workers, each member the member of the other group with the same place in it.
//
// Thread-safety: immutable.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_HIERARCHICAL_H_
#define GOSSIPGRAD_CORE_SCHEDULE_HIERARCHICAL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/grouping.h"
#include "core/schedule/schedule.h"

namespace gg {

class Hierarchical final : public PartnerSchedule {
 public:
  // The name of the schedule that groups meet by.
  static constexpr absl::string_view kBetweenGroups = "dissemination";

  // `between` has as many ranks as there are groups.
  Hierarchical(Grouping grouping, std::unique_ptr<PartnerSchedule> between);

  absl::string_view name() const override { return "hierarchical"; }
  int size() const override { return static_cast<int>(grouping_.group_of.size()); }
  int round_length() const override;
  std::vector<Rank> Rotation(uint64_t step) const override;  // group after group
  std::vector<Partners> Table(uint64_t step) const override;
  std::vector<Rank> GroupOf(Rank self) const override;

 private:
  const Grouping grouping_;
  const std::unique_ptr<PartnerSchedule> between_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_HIERARCHICAL_H_
