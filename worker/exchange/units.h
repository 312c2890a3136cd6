// SPDX-License-Identifier: Apache-2.0
//
// Exchange units: runs of adjacent blocks that travel as one message. Small layers are sent
// together, because a message of 64 KB costs ten times as much per byte as one of 1 MB; a large
// layer is a unit of its own.
//
// Thread-safety: values.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_UNITS_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/nn/param_arena.h"

namespace gg {

struct ExchangeUnit {
  BlockIndex first;  // blocks first .. first + blocks - 1
  int blocks;
  size_t offset;  // floats from the start of an arena
  size_t count;   // floats in each arena
};

struct UnitPlan {
  std::vector<ExchangeUnit> units;  // in the order in which back-propagation completes them
  std::vector<int> unit_of_block;
};

// Joins adjacent blocks while their message, of `parts` arenas, stays within `bucket_bytes`.
UnitPlan PlanUnits(const ParamArena& arena, size_t parts, int64_t bucket_bytes);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_UNITS_H_
