// SPDX-License-Identifier: Apache-2.0
//
// What `ggctl compare` is to run: the list of --algorithms, each with settings of its own.
//   gossip-grad                                  a value of spec.exchange.algorithm
//   gossip-grad:schedule=ring:rotate=false       with fields of spec.exchange
//   easgd:optimizer.nesterov=true                a path with a dot counts from spec
// Values hold no ',' and no ':'. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_COMPARE_PLAN_H_
#define GOSSIPGRAD_GGCTL_COMPARE_PLAN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ggctl/jobfile/job_file.h"

namespace gg {

struct CompareItem {
  std::string label;  // as the user wrote it, what results are shown under
  std::string algorithm;
  std::vector<std::pair<std::string, std::string>> settings;  // {"exchange.schedule", "ring"}

  // For the job file reader, the algorithm first.
  std::vector<Override> overrides() const;
};

// kInvalidArgument names the item: empty, a setting without '=', another method or a field twice
// among the settings, twice the same item.
absl::StatusOr<std::vector<CompareItem>> ParseCompareItems(absl::string_view list);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_COMPARE_PLAN_H_
