// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/rotated_schedule.h"

#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "core/rng.h"

namespace gg {

RotatedSchedule::RotatedSchedule(absl::string_view name, const ScheduleOptions& options,
                                 std::vector<Stage> stages, int round_length)
    : name_(name),
      size_(options.size),
      seed_(options.seed),
      rotate_(options.rotate),
      stages_(std::move(stages)),
      round_length_(round_length) {}

std::unique_ptr<RotatedSchedule> RotatedSchedule::Of(const Topology& topology,
                                                     const ScheduleOptions& options) {
  const int size = options.size;
  if (size == 1) {
    return std::make_unique<RotatedSchedule>(topology.name, options, std::vector<Stage>(), 0);
  }
  std::vector<Stage> stages(topology.stages(size));
  for (int k = 0; k < static_cast<int>(stages.size()); ++k) {
    for (int v = 0; v < size; ++v) {
      stages[k].push_back({topology.send_to(v, k, size), topology.recv_from(v, k, size)});
    }
  }
  return std::make_unique<RotatedSchedule>(topology.name, options, std::move(stages),
                                           topology.round_length(size));
}

std::vector<Rank> RotatedSchedule::Rotation(uint64_t step) const {
  std::vector<Rank> ranks(size_);
  std::iota(ranks.begin(), ranks.end(), 0);
  const uint64_t round = round_length_ == 0 ? 0 : step / round_length_;
  if (round == 0 || !rotate_) return ranks;
  // A stream of its own per round: no round depends on the one before it, so any step can be asked
  // first.
  Rng(seed_, "rotation", round).Shuffle(absl::MakeSpan(ranks));
  return ranks;
}

std::vector<Partners> RotatedSchedule::Table(uint64_t step) const {
  std::vector<Partners> table(size_);
  if (stages_.empty()) return table;
  const std::vector<Rank> ranks = Rotation(step);
  const auto rank_at = [&](int position) { return position < 0 ? -1 : ranks[position]; };
  const Stage& stage = stages_[step % round_length_ % stages_.size()];
  for (int v = 0; v < size_; ++v) {
    table[ranks[v]] = {rank_at(stage[v].send_to), rank_at(stage[v].recv_from)};
  }
  return table;
}

}  // namespace gg
