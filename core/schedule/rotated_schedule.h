// SPDX-License-Identifier: Apache-2.0
//
// A topology applied to ranks under a permutation that changes from round to round.
//
// Thread-safety: immutable.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_ROTATED_SCHEDULE_H_
#define GOSSIPGRAD_CORE_SCHEDULE_ROTATED_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/schedule/topology.h"

namespace gg {

class RotatedSchedule final : public PartnerSchedule {
 public:
  // `options` have been checked against the topology.
  RotatedSchedule(const Topology& topology, const ScheduleOptions& options);

  absl::string_view name() const override { return topology_.name; }
  int size() const override { return options_.size; }
  int round_length() const override { return round_length_; }
  std::vector<Rank> Rotation(uint64_t step) const override;
  Partners At(Rank self, uint64_t step) const override;

 private:
  const Topology topology_;
  const ScheduleOptions options_;
  const int round_length_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_ROTATED_SCHEDULE_H_
