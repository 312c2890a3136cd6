// SPDX-License-Identifier: Apache-2.0
//
// Stages of partners among positions, gone through again and again, under a permutation of ranks that
// changes from round to round.
//
// Thread-safety: immutable.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_ROTATED_SCHEDULE_H_
#define GOSSIPGRAD_CORE_SCHEDULE_ROTATED_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/schedule/topology.h"

namespace gg {

class RotatedSchedule final : public PartnerSchedule {
 public:
  using Stage = std::vector<Partners>;  // by position, in positions

  // `name` is a literal. A round of `round_length` steps begins with stage 0 and goes through
  // `stages` as often as it lasts; both are empty for size 1.
  RotatedSchedule(absl::string_view name, const ScheduleOptions& options, std::vector<Stage> stages,
                  int round_length);
  static std::unique_ptr<RotatedSchedule> Of(const Topology& topology,
                                             const ScheduleOptions& options);

  absl::string_view name() const override { return name_; }
  int size() const override { return size_; }
  int round_length() const override { return round_length_; }
  std::vector<Rank> Rotation(uint64_t step) const override;
  std::vector<Partners> Table(uint64_t step) const override;

 private:
  const absl::string_view name_;
  const int size_;
  const uint64_t seed_;
  const bool rotate_;
  const std::vector<Stage> stages_;
  const int round_length_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_ROTATED_SCHEDULE_H_
