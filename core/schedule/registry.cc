// SPDX-License-Identifier: Apache-2.0
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/rotated_schedule.h"
#include "core/schedule/schedule.h"
#include "core/schedule/topology.h"
#include "core/status.h"

namespace gg {
namespace {

// In the order in which they are documented.
const Topology* const kTopologies[] = {&kDissemination, &kHypercube};

}  // namespace

absl::StatusOr<std::unique_ptr<PartnerSchedule>> MakeSchedule(absl::string_view name,
                                                              const ScheduleOptions& options) {
  if (options.size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a schedule needs at least one worker, not ", options.size));
  }
  for (const Topology* topology : kTopologies) {
    if (topology->name != name) continue;
    GG_RETURN_IF_ERROR(topology->check(options.size));
    return std::make_unique<RotatedSchedule>(*topology, options);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown schedule '", name, "': use one of ",
                                                 absl::StrJoin(ScheduleNames(), ", ")));
}

std::vector<absl::string_view> ScheduleNames() {
  std::vector<absl::string_view> names;
  for (const Topology* topology : kTopologies) names.push_back(topology->name);
  return names;
}

}  // namespace gg
