// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/schedule_of.h"

#include <string>
#include <utility>

#include "core/schedule/grouping.h"
#include "core/status.h"
#include "platform/read_file.h"

namespace gg {

absl::StatusOr<std::unique_ptr<PartnerSchedule>> ScheduleOf(const ExchangeSpec& spec, uint64_t seed,
                                                            int size, const View* view) {
  ScheduleOptions options = {.size = size, .seed = seed, .rotate = spec.rotate};
  if (spec.schedule == "graph") {
    if (spec.graph_file.empty()) {
      return absl::InvalidArgumentError("schedule graph needs spec.exchange.graph_file");
    }
    const absl::StatusOr<std::string> text = ReadSmallFile(spec.graph_file, kLongestScheduleGraph);
    if (!text.ok()) return Annotate(text.status(), "spec.exchange.graph_file");
    GG_ASSIGN_OR_RETURN(ScheduleGraph graph, ParseScheduleGraph(*text, spec.graph_file));
    options.graph = std::make_shared<const ScheduleGraph>(std::move(graph));
  } else if (spec.schedule == "hierarchical" && view != nullptr) {
    GG_ASSIGN_OR_RETURN(options.places, PlacesOf(*view, spec.topology));
  } else if (spec.schedule == "hierarchical" && size == 1) {
    options.places = {""};
  }
  return MakeSchedule(spec.schedule, options);
}

}  // namespace gg
