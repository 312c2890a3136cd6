// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "absl/strings/str_cat.h"
#include "core/schedule/topology.h"

namespace gg {
namespace {

absl::Status PowerOfTwo(int size) {
  const unsigned n = static_cast<unsigned>(size);
  if (std::has_single_bit(n)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("schedule hypercube needs a power of two of workers, not ", size, ": use ",
                   std::bit_floor(n), " or ", std::bit_ceil(n),
                   " workers, or the schedule dissemination, which serves any number"));
}

int Across(int position, int k, int /*size*/) {
  return position ^ (1 << k);
}

}  // namespace

const Topology kHypercube = {"hypercube", PowerOfTwo, CeilLog2, CeilLog2, Across, Across};

}  // namespace gg
