// SPDX-License-Identifier: Apache-2.0
//
// Whether a message may be let near the model.
//
// Thread-safety: pure function.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_FINITE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_FINITE_H_

#include <bit>
#include <cstdint>

#include "kernels/device.h"

namespace gg {

// By bits and without a branch per value, so that the compiler makes vector code of it.
inline bool AllFinite(ConstFlat values) {
  constexpr uint32_t kExponent = 0x7F800000u;
  uint32_t bad = 0;
  for (const float value : values) {
    bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_FINITE_H_
