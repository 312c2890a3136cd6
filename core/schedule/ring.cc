// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/topology.h"

namespace gg {
namespace {

int AllButOne(int size) {
  return size - 1;
}
int One(int /*size*/) {
  return 1;
}
int Next(int position, int /*k*/, int size) {
  return (position + 1) % size;
}
int Previous(int position, int /*k*/, int size) {
  return (position + size - 1) % size;
}

}  // namespace

const Topology kRing = {"ring", AnySize, AllButOne, One, Next, Previous};

}  // namespace gg
