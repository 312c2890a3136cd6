// SPDX-License-Identifier: Apache-2.0
//
// Groups of workers that stand at one place, for schedule hierarchical.
//
// Thread-safety: values.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_GROUPING_H_
#define GOSSIPGRAD_CORE_SCHEDULE_GROUPING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/ids.h"

namespace gg {

struct Grouping {
  // Ranks grow inside a group; groups stand in the order of their first ranks.
  std::vector<std::vector<Rank>> groups;
  std::vector<int> group_of;  // by rank
  std::vector<int> place_of;  // by rank: its position inside its group
};

// Ranks with equal places form a group. kInvalidArgument: no rank, or groups of different sizes; the
// message names them.
absl::StatusOr<Grouping> GroupByPlace(const std::vector<std::string>& places);

// The places of a view's members: their labels `topology`. kInvalidArgument names the members
// without one.
absl::StatusOr<std::vector<std::string>> PlacesOf(const View& view, absl::string_view topology);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_GROUPING_H_
