// SPDX-License-Identifier: Apache-2.0
#include "core/apportion.h"

#include <algorithm>
#include <numeric>

namespace gg {

std::vector<int64_t> Apportion(int64_t total, absl::Span<const int64_t> weights, int64_t least) {
  __extension__ using Wide = __int128;
  const Wide sum = std::accumulate(weights.begin(), weights.end(), Wide{0});
  std::vector<int64_t> parts;
  std::vector<Wide> rests;
  int64_t left = total;
  for (const int64_t weight : weights) {
    const Wide share = Wide{total} * weight;
    parts.push_back(static_cast<int64_t>(share / sum));
    rests.push_back(share % sum);
    left -= parts.back();
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rests[a] > rests[b]; });
  for (int64_t i = 0; i < left; ++i) ++parts[order[static_cast<size_t>(i)]];
  for (int64_t& part : parts) {
    while (part < least) {
      --*std::max_element(parts.begin(), parts.end());
      ++part;
    }
  }
  return parts;
}

}  // namespace gg
