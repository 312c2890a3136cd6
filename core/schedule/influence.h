// SPDX-License-Identifier: Apache-2.0
//
// Whose values everybody's are made of, while a schedule runs: the analysis of schedules.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_INFLUENCE_H_
#define GOSSIPGRAD_CORE_SCHEDULE_INFLUENCE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/schedule/schedule.h"

namespace gg {

// A relation between ranks that begins with everybody and itself and only grows.
class Influence {
 public:
  explicit Influence(int size);
  // Everybody takes over what has come from whom it receives from.
  void Exchange(const std::vector<Partners>& table);
  // The members of a group have all that any of them has.
  void Average(const std::vector<Rank>& group);
  bool complete() const { return count() == size_ * size_; }
  size_t count() const;
  // The first pair (a, b) where nothing of a is in b; none when complete.
  std::optional<std::pair<Rank, Rank>> Missing() const;

 private:
  using Row = std::vector<uint64_t>;  // bit a of row b: something of a is in b
  static void Merge(const Row& from, Row& into);
  const size_t size_;
  std::vector<Row> rows_;
};

struct Spread {
  std::optional<uint64_t> influenced;  // steps after which everybody has influenced everybody
  std::optional<uint64_t> met;  // after which every two have been partners, or are in one group
};
// From `first_step` on; absent where `most_steps` are not enough.
Spread MeasureSpread(const PartnerSchedule& schedule, uint64_t first_step, uint64_t most_steps);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_INFLUENCE_H_
