// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/grouping.h"
#include "core/schedule/hierarchical.h"
#include "core/schedule/random_pairs.h"
#include "core/schedule/rotated_schedule.h"
#include "core/schedule/schedule.h"
#include "core/schedule/topology.h"
#include "core/status.h"

namespace gg {
namespace {

using Made = absl::StatusOr<std::unique_ptr<PartnerSchedule>>;

template <const Topology& topology>
Made FromTopology(const ScheduleOptions& options) {
  GG_RETURN_IF_ERROR(topology.check(options.size));
  return RotatedSchedule::Of(topology, options);
}

Made MakeRandom(const ScheduleOptions& options) {
  return std::make_unique<RandomPairs>(options);
}

Made MakeHierarchical(const ScheduleOptions& options) {
  GG_ASSIGN_OR_RETURN(Grouping grouping, GroupByPlace(options.places));
  if (static_cast<int>(options.places.size()) != options.size) {
    return absl::InvalidArgumentError(absl::StrCat("schedule hierarchical: ", options.places.size(),
                                                   " places of ", options.size, " workers"));
  }
  ScheduleOptions between = {.size = static_cast<int>(grouping.groups.size()),
                             .seed = options.seed,
                             .rotate = options.rotate};
  GG_ASSIGN_OR_RETURN(std::unique_ptr<PartnerSchedule> groups,
                      MakeSchedule(Hierarchical::kBetweenGroups, between));
  return std::make_unique<Hierarchical>(std::move(grouping), std::move(groups));
}

Made MakeFromGraph(const ScheduleOptions& options) {
  if (options.graph == nullptr) {
    return absl::InvalidArgumentError(
        "schedule graph needs the file that describes it (spec.exchange.graph_file)");
  }
  const ScheduleGraph& graph = *options.graph;
  if (graph.size != options.size) {
    return absl::InvalidArgumentError(absl::StrCat(
        graph.source, ": is for ", graph.size, graph.size == 1 ? " worker" : " workers",
        ", but there are ", options.size, "; set spec.workers.min and max to ", graph.size,
        ", or write a graph with \"workers ", options.size, "\" (spec.exchange.graph_file)"));
  }
  std::vector<RotatedSchedule::Stage> stages;
  for (const std::vector<int>& send_to : graph.send_to) {
    RotatedSchedule::Stage& stage = stages.emplace_back(graph.size);
    for (int v = 0; v < graph.size; ++v) {
      stage[v].send_to = send_to[v];
      if (send_to[v] >= 0) stage[send_to[v]].recv_from = v;
    }
  }
  return std::make_unique<RotatedSchedule>("graph", options, std::move(stages), graph.round_length);
}

struct Known {
  absl::string_view name;
  Made (*make)(const ScheduleOptions& options);
};
// In the order in which they are documented.
constexpr Known kSchedules[] = {
    {"dissemination", FromTopology<kDissemination>},
    {"hypercube", FromTopology<kHypercube>},
    {"ring", FromTopology<kRing>},
    {"exponential", FromTopology<kExponential>},
    {"random", MakeRandom},
    {"hierarchical", MakeHierarchical},
    {"graph", MakeFromGraph},
};

}  // namespace

absl::StatusOr<std::unique_ptr<PartnerSchedule>> MakeSchedule(absl::string_view name,
                                                              const ScheduleOptions& options) {
  if (options.size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a schedule needs at least one worker, not ", options.size));
  }
  for (const Known& known : kSchedules) {
    if (known.name == name) return known.make(options);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown schedule '", name, "': use one of ",
                                                 absl::StrJoin(ScheduleNames(), ", ")));
}

std::vector<absl::string_view> ScheduleNames() {
  std::vector<absl::string_view> names;
  for (const Known& known : kSchedules) names.push_back(known.name);
  return names;
}

}  // namespace gg
