// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "worker/data/dataset.h"

namespace gg {

ShardRange InitialShard(int64_t total, int size, Rank rank) {
  const int64_t base = total / size;
  const int64_t remainder = total % size;
  return {.first = rank * base + std::min<int64_t>(rank, remainder),
          .count = base + (rank < remainder ? 1 : 0)};
}

int64_t StepsPerEpoch(int64_t total, int size, int64_t batch_size) {
  const int64_t largest_shard = InitialShard(total, size, 0).count;
  return (largest_shard + batch_size - 1) / batch_size;
}

}  // namespace gg
