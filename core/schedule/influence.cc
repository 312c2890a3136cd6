// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/influence.h"

#include <bit>

namespace gg {

Influence::Influence(int size)
    : size_(static_cast<size_t>(size)), rows_(size_, Row((size_ + 63) / 64)) {
  for (size_t i = 0; i < size_; ++i) rows_[i][i / 64] |= uint64_t{1} << (i % 64);
}

void Influence::Merge(const Row& from, Row& into) {
  for (size_t i = 0; i < into.size(); ++i) into[i] |= from[i];
}

void Influence::Exchange(const std::vector<Partners>& table) {
  const std::vector<Row> before = rows_;
  for (size_t i = 0; i < size_; ++i) {
    if (table[i].recv_from >= 0) Merge(before[table[i].recv_from], rows_[i]);
  }
}

void Influence::Average(const std::vector<Rank>& group) {
  Row all(rows_[0].size());
  for (const Rank member : group) Merge(rows_[member], all);
  for (const Rank member : group) rows_[member] = all;
}

size_t Influence::count() const {
  size_t count = 0;
  for (const Row& row : rows_) {
    for (const uint64_t word : row) count += std::popcount(word);
  }
  return count;
}

std::optional<std::pair<Rank, Rank>> Influence::Missing() const {
  for (size_t a = 0; a < size_; ++a) {
    for (size_t b = 0; b < size_; ++b) {
      if ((rows_[b][a / 64] >> (a % 64) & 1) == 0) return std::pair<Rank, Rank>(a, b);
    }
  }
  return std::nullopt;
}

Spread MeasureSpread(const PartnerSchedule& schedule, uint64_t first_step, uint64_t most_steps) {
  const int size = schedule.size();
  Spread spread;
  Influence influence(size);
  // Bit (a, b) of this one: a and b have met.
  std::vector<std::vector<bool>> met(size, std::vector<bool>(size));
  int64_t left = int64_t{size} * (size - 1) / 2;
  const auto meet = [&](Rank a, Rank b) {
    if (a == b || met[a][b]) return;
    met[a][b] = met[b][a] = true;
    --left;
  };
  std::vector<std::vector<Rank>> groups;
  for (Rank r = 0; r < size; ++r) {
    std::vector<Rank> group = schedule.GroupOf(r);
    if (group.size() > 1 && group[0] == r) groups.push_back(std::move(group));
  }
  if (size == 1) spread = {0, 0};
  for (uint64_t done = 0; done < most_steps && (!spread.influenced || !spread.met); ++done) {
    const std::vector<Partners> table = schedule.Table(first_step + done);
    for (const std::vector<Rank>& group : groups) {
      for (const Rank a : group) {
        for (const Rank b : group) meet(a, b);
      }
      if (!spread.influenced) influence.Average(group);
    }
    for (Rank r = 0; r < size; ++r) {
      if (table[r].recv_from >= 0) meet(r, table[r].recv_from);
    }
    if (!spread.influenced) {
      influence.Exchange(table);
      if (influence.complete()) spread.influenced = done + 1;
    }
    if (left == 0 && !spread.met) spread.met = done + 1;
  }
  return spread;
}

}  // namespace gg
