// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/units.h"

namespace gg {

UnitPlan PlanUnits(const ParamArena& arena, size_t parts, int64_t bucket_bytes) {
  UnitPlan plan;
  const size_t limit = bucket_bytes > 0 ? static_cast<size_t>(bucket_bytes) : 0;
  for (BlockIndex b = 0; b < arena.block_count(); ++b) {
    const BlockInfo& block = arena.block(b);
    const bool joins = !plan.units.empty() &&
                       (plan.units.back().count + block.count) * parts * sizeof(float) <= limit;
    if (joins) {
      ++plan.units.back().blocks;
      plan.units.back().count += block.count;
    } else {
      plan.units.push_back({b, 1, block.offset, block.count});
    }
    plan.unit_of_block.push_back(static_cast<int>(plan.units.size()) - 1);
  }
  return plan;
}

}  // namespace gg
