// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "core/schedule/topology.h"

namespace gg {
namespace {

absl::Status AnySize(int /*size*/) {
  return absl::OkStatus();
}

// 2^k < size at every stage, so nobody meets itself and no sum leaves the range of int.
int Down(int position, int k, int size) {
  return (position - (1 << k) + size) % size;
}
int Up(int position, int k, int size) {
  return static_cast<int>((int64_t{position} + (1 << k)) % size);
}

}  // namespace

const Topology kDissemination = {"dissemination", AnySize, Down, Up};

}  // namespace gg
