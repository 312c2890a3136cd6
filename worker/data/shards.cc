// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/apportion.h"
#include "worker/data/dataset.h"

namespace gg {

ShardRange InitialShard(int64_t total, int size, Rank rank) {
  const int64_t base = total / size;
  const int64_t remainder = total % size;
  return {.first = rank * base + std::min<int64_t>(rank, remainder),
          .count = base + (rank < remainder ? 1 : 0)};
}

ShardRange ProportionalShard(int64_t total, absl::Span<const int64_t> batches, Rank rank) {
  const std::vector<int64_t> counts = Apportion(total, batches);
  const auto own = counts.begin() + rank;
  return {.first = std::accumulate(counts.begin(), own, int64_t{0}), .count = *own};
}

int64_t StepsPerEpoch(int64_t total, int size, int64_t batch_size) {
  const int64_t largest_shard = InitialShard(total, size, 0).count;
  return (largest_shard + batch_size - 1) / batch_size;
}

}  // namespace gg
