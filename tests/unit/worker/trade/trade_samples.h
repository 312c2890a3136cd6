// SPDX-License-Identifier: Apache-2.0
//
// Samples that can be told apart, and what a set of stores holds of them.
#ifndef GOSSIPGRAD_TESTS_UNIT_WORKER_TRADE_TRADE_SAMPLES_H_
#define GOSSIPGRAD_TESTS_UNIT_WORKER_TRADE_TRADE_SAMPLES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/rng.h"
#include "worker/data/batch_source.h"

namespace gg {

// Sample i has label i and pixels drawn from i.
inline Dataset NumberedSamples(int64_t count) {
  Dataset set;
  set.shape = {1, 2, 3};
  set.classes = count;
  for (int64_t i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<int32_t>(i));
    Rng rng(1, "test/sample", static_cast<uint64_t>(i));
    for (int k = 0; k < 6; ++k) set.pixels.push_back(static_cast<uint8_t>(rng.Below(256)));
  }
  return set;
}

inline std::vector<std::unique_ptr<ShardStore>> ShardsOf(const Dataset& set, int size) {
  std::vector<std::unique_ptr<ShardStore>> stores;
  for (Rank r = 0; r < size; ++r) {
    stores.push_back(std::make_unique<ShardStore>(set, InitialShard(set.size(), size, r)));
  }
  return stores;
}

// The labels in all stores, sorted; -1 for a sample whose pixels are not those of its label.
inline std::vector<int32_t> Contents(const std::vector<std::unique_ptr<ShardStore>>& stores,
                                     const Dataset& set) {
  std::vector<int32_t> labels;
  for (const auto& store : stores) {
    for (int64_t slot = 0; slot < store->size(); ++slot) {
      const int32_t label = store->label(slot);
      const bool whole =
          label >= 0 && label < set.size() && store->pixels(slot) == set.sample(label);
      labels.push_back(whole ? label : -1);
    }
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

// Runs `body` for every rank at the same time.
inline void ForEachRank(int size, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank r = 0; r < size; ++r) threads.emplace_back(body, r);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_WORKER_TRADE_TRADE_SAMPLES_H_
