// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/topology.h"

#include <bit>

namespace gg {

absl::Status AnySize(int /*size*/) {
  return absl::OkStatus();
}

int CeilLog2(int size) {
  return std::bit_width(static_cast<unsigned>(size) - 1);
}

}  // namespace gg
