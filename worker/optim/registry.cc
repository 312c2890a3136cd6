// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/spec/validate.h"
#include "core/status.h"
#include "worker/optim/rules.h"

namespace gg {
namespace {

struct Known {
  absl::string_view name;
  MakeRule make;
};
constexpr Known kRules[] = {
    {"sgd", MakeSgd},   {"sgd-pytorch", MakeSgdPyTorch},
    {"adam", MakeAdam}, {"adamw", MakeAdamW},
    {"lars", MakeLars}, {"lamb", MakeLamb},
};

// Of what Validate says of a job, the part about its optimizer.
absl::Status Check(const OptimizerSpec& spec) {
  JobSpec job;
  job.optimizer = spec;
  std::vector<FieldError> errors;
  for (FieldError& error : Validate(job)) {
    if (absl::StartsWith(error.path, "spec.optimizer.")) errors.push_back(std::move(error));
  }
  return ToStatus(errors);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerSpec& spec, Device& device,
                                                         Stream& stream, ParamArena& arena) {
  GG_RETURN_IF_ERROR(Check(spec));
  GG_ASSIGN_OR_RETURN(std::vector<ParamRange> ranges, RangesOfParameters(spec, arena));
  for (const Known& known : kRules) {
    if (known.name != spec.name) continue;
    return known.make({.spec = spec,
                       .device = &device,
                       .stream = &stream,
                       .arena = &arena,
                       .ranges = std::move(ranges)});
  }
  return absl::InternalError(absl::StrCat("no rule for optimizer '", spec.name, "'"));
}

}  // namespace gg
