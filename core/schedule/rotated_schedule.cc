// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/rotated_schedule.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "absl/types/span.h"
#include "core/rng.h"

namespace gg {

RotatedSchedule::RotatedSchedule(const Topology& topology, const ScheduleOptions& options)
    : topology_(topology),
      options_(options),
      round_length_(std::bit_width(static_cast<unsigned>(options.size) - 1)) {}

std::vector<Rank> RotatedSchedule::Rotation(uint64_t step) const {
  std::vector<Rank> ranks(options_.size);
  std::iota(ranks.begin(), ranks.end(), 0);
  const uint64_t round = round_length_ == 0 ? 0 : step / round_length_;
  if (round == 0 || !options_.rotate) return ranks;
  // A stream of its own per round: no round depends on the one before it, so any step can be asked
  // first.
  Rng(options_.seed, "rotation", round).Shuffle(absl::MakeSpan(ranks));
  return ranks;
}

Partners RotatedSchedule::At(Rank self, uint64_t step) const {
  if (options_.size == 1) return {};
  const std::vector<Rank> ranks = Rotation(step);
  const int position =
      static_cast<int>(std::find(ranks.begin(), ranks.end(), self) - ranks.begin());
  const int k = static_cast<int>(step % round_length_);
  return {ranks[topology_.send_to(position, k, options_.size)],
          ranks[topology_.recv_from(position, k, options_.size)]};
}

}  // namespace gg
