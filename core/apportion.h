// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers in proportion to weights: the method of largest remainders, exact in integers, so that everybody who
// calls it with the same arguments gets the same answer. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_CORE_APPORTION_H_
#define GOSSIPGRAD_CORE_APPORTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace gg {

// Parts of `total` (at least `least` for each weight) that add up to it, each at least `least`, which is 1 or more. Part i is
// total weight_i / sum of weights rounded down or up: up for those with the largest remainders, the first of equal
// ones; then the largest parts give to those that would be below `least`. Weights are at least 1 and below 2^53.
std::vector<int64_t> Apportion(int64_t total, absl::Span<const int64_t> weights, int64_t least = 1);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_APPORTION_H_
