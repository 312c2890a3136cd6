// SPDX-License-Identifier: Apache-2.0
//
// Which decay and which rate each parameter gets: the patterns of the specification, applied to the
// names in the arena.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_WORKER_OPTIM_PARAM_RANGES_H_
#define GOSSIPGRAD_WORKER_OPTIM_PARAM_RANGES_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/job_spec.h"
#include "worker/nn/param_arena.h"

namespace gg {

struct ParamRange {
  size_t offset, count;  // floats
  double weight_decay;
  double rate_factor;
};

// '*' stands for any text, '?' for one character.
bool PatternMatches(absl::string_view pattern, absl::string_view name);

// One per parameter, in the order of the arena; the gap behind a block's last parameter belongs to
// it, so that together they are the whole arena. Of several patterns that match, the longest
// counts. kInvalidArgument: a pattern that matches no parameter (the message lists them), or
// patterns of equal length that give one parameter two values.
absl::StatusOr<std::vector<ParamRange>> RangesOfParameters(const OptimizerSpec& spec,
                                                           const ParamArena& arena);

// Neighbours that are treated alike, joined.
std::vector<ParamRange> Joined(const std::vector<ParamRange>& ranges);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_OPTIM_PARAM_RANGES_H_
