// SPDX-License-Identifier: Apache-2.0
//
// Schedule random: at every step a perfect matching drawn from (seed, step), whose two ends send to
// each other. With an odd number of workers the one that is left over rests in that step.
//
// Thread-safety: immutable.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_RANDOM_PAIRS_H_
#define GOSSIPGRAD_CORE_SCHEDULE_RANDOM_PAIRS_H_

#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"

namespace gg {

class RandomPairs final : public PartnerSchedule {
 public:
  explicit RandomPairs(const ScheduleOptions& options) : size_(options.size), seed_(options.seed) {}

  absl::string_view name() const override { return "random"; }
  int size() const override { return size_; }
  int round_length() const override;
  std::vector<Rank> Rotation(uint64_t step) const override;  // always the identity
  std::vector<Partners> Table(uint64_t step) const override;

 private:
  const int size_;
  const uint64_t seed_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_RANDOM_PAIRS_H_
