// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "core/schedule/topology.h"

namespace gg {
namespace {

// 2^k < size at every stage, so nobody meets itself and no sum leaves the range of int.
int Down(int position, int k, int size) {
  return (position - (1 << k) + size) % size;
}
int Up(int position, int k, int size) {
  return static_cast<int>((int64_t{position} + (1 << k)) % size);
}

}  // namespace

// The two differ in the direction only.
const Topology kDissemination = {"dissemination", AnySize, CeilLog2, CeilLog2, Down, Up};
const Topology kExponential = {"exponential", AnySize, CeilLog2, CeilLog2, Up, Down};

}  // namespace gg
