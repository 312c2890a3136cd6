// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/random_pairs.h"

#include <numeric>

#include "absl/types/span.h"
#include "core/rng.h"
#include "core/schedule/topology.h"

namespace gg {

int RandomPairs::round_length() const {
  return CeilLog2(size_);
}

std::vector<Rank> RandomPairs::Rotation(uint64_t /*step*/) const {
  std::vector<Rank> ranks(size_);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<Partners> RandomPairs::Table(uint64_t step) const {
  std::vector<Rank> order = Rotation(step);
  Rng(seed_, "pairs", step).Shuffle(absl::MakeSpan(order));
  std::vector<Partners> table(size_);
  for (int i = 0; i + 1 < size_; i += 2) {
    table[order[i]] = {order[i + 1], order[i + 1]};
    table[order[i + 1]] = {order[i], order[i]};
  }
  return table;
}

}  // namespace gg
