// SPDX-License-Identifier: Apache-2.0
//
// Who meets whom, as a file says: docs/formats/graph.md.
//
// Thread-safety: values and pure functions.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_GRAPH_H_
#define GOSSIPGRAD_CORE_SCHEDULE_GRAPH_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gg {

// Files longer than this are not read.
inline constexpr size_t kLongestScheduleGraph = 16 << 20;

struct ScheduleGraph {
  int size = 0;
  // send_to[stage][position]: the position that is sent to, -1 for nobody. At each stage a position
  // occurs at most once as a receiver.
  std::vector<std::vector<int>> send_to;
  // Steps from stage 0 on after which everybody has influenced everybody, up to the end of the last
  // pass through the stages; 0 for size 1.
  int round_length = 0;
  std::string source = {};  // the file, for messages
};

// A byte order mark at the beginning is skipped. kInvalidArgument begins with "SOURCE:LINE: " where a
// line is at fault, names the pair when one worker never reaches another, and ends with the field of
// the job that names the file.
absl::StatusOr<ScheduleGraph> ParseScheduleGraph(absl::string_view text, absl::string_view source);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_GRAPH_H_
