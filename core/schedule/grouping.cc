// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grouping.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gg {

absl::StatusOr<Grouping> GroupByPlace(const std::vector<std::string>& places) {
  if (places.empty()) {
    return absl::InvalidArgumentError("schedule hierarchical needs to know where the workers are");
  }
  Grouping grouping;
  std::map<std::string, int> number;
  std::vector<std::string> names;
  for (Rank rank = 0; rank < static_cast<Rank>(places.size()); ++rank) {
    const auto [it, fresh] = number.emplace(places[rank], static_cast<int>(names.size()));
    if (fresh) {
      names.push_back(places[rank]);
      grouping.groups.emplace_back();
    }
    std::vector<Rank>& group = grouping.groups[it->second];
    grouping.group_of.push_back(it->second);
    grouping.place_of.push_back(static_cast<int>(group.size()));
    group.push_back(rank);
  }
  for (const std::vector<Rank>& group : grouping.groups) {
    if (group.size() == grouping.groups[0].size()) continue;
    std::vector<std::string> sizes;
    for (size_t g = 0; g < names.size(); ++g) {
      sizes.push_back(absl::StrCat(names[g], " has ", grouping.groups[g].size()));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("schedule hierarchical needs groups of one size, but of the workers ",
                     absl::StrJoin(sizes, ", "),
                     ": start as many workers in each, or use the schedule dissemination"));
  }
  return grouping;
}

absl::StatusOr<std::vector<std::string>> PlacesOf(const View& view, absl::string_view topology) {
  std::vector<std::string> places, without;
  for (const Member& member : view.members) {
    const auto it = member.topology.find(std::string(topology));
    if (it == member.topology.end()) without.push_back(member.worker_id);
    places.push_back(it == member.topology.end() ? "" : it->second);
  }
  if (without.empty()) return places;
  return absl::InvalidArgumentError(
      absl::StrCat("schedule hierarchical groups workers by the topology ", topology, ", which ",
                   absl::StrJoin(without, ", "), without.size() == 1 ? " does" : " do",
                   " not have: start gg-worker with --topology ", topology, "=PLACE"));
}

}  // namespace gg
