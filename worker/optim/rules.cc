// SPDX-License-Identifier: Apache-2.0
#include "worker/optim/rules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {

absl::Status Rule::Update(BlockIndex block, uint64_t step, double rate) {
  ParamArena& arena = *parts_.arena;
  if (block < 0 || block >= arena.block_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block, " is outside 0 .. ", arena.block_count() - 1));
  }
  return ApplyWithin(arena.block(block).offset, arena.block(block).count, step, rate);
}

absl::Status Rule::ApplyWithin(size_t offset, size_t count, uint64_t step, double rate) {
  // An infinite rate would write NaN into the gaps as well.
  if (!std::isfinite(rate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("learning rate is ", rate, ": check learning_rate of the job"));
  }
  const size_t end = offset + count;
  auto range =
      std::partition_point(parts_.ranges.begin(), parts_.ranges.end(),
                           [offset](const ParamRange& r) { return r.offset + r.count <= offset; });
  for (; range != parts_.ranges.end() && range->offset < end; ++range) {
    ParamRange piece = *range;
    piece.offset = std::max(range->offset, offset);
    piece.count = std::min(range->offset + range->count, end) - piece.offset;
    GG_RETURN_IF_ERROR(Apply(piece, step, rate * piece.rate_factor));
  }
  return absl::OkStatus();
}

ElementwiseRule::ElementwiseRule(RuleParts parts) : Rule(std::move(parts)) {
  parts_.ranges = Joined(parts_.ranges);
}

absl::Status ElementwiseRule::UpdateRange(size_t offset, size_t count, uint64_t step, double rate) {
  const size_t size = parts_.arena->size();
  if (offset > size || count > size - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("floats ", offset, " .. ", offset + count, " are outside 0 .. ", size));
  }
  return ApplyWithin(offset, count, step, rate);
}

absl::Status LayerwiseRule::UpdateRange(size_t /*offset*/, size_t /*count*/, uint64_t /*step*/,
                                        double /*rate*/) {
  return absl::InvalidArgumentError(absl::StrCat(
      "optimizer ", spec().name,
      " needs the norms of whole layers, and this exchange updates pieces of them: use exchange "
      "algorithm allreduce-layerwise, or another optimizer"));
}

absl::StatusOr<double> LayerwiseRule::Norm(ConstFlat values) {
  GG_ASSIGN_OR_RETURN(const double squared, device().SquaredNorm(stream(), values));
  return std::sqrt(squared);
}

size_t LayerwiseRule::LargestRange() const {
  size_t largest = 0;
  for (const ParamRange& range : parts_.ranges) largest = std::max(largest, range.count);
  return largest;
}

AdamParams AdamParamsOf(const OptimizerSpec& spec, const ParamRange& range, uint64_t step,
                        double rate, bool decoupled_decay) {
  return {.learning_rate = rate,
          .beta1 = spec.beta1,
          .beta2 = spec.beta2,
          .epsilon = spec.epsilon,
          .weight_decay = range.weight_decay,
          .step = step + 1,  // counted from 1
          .decoupled_decay = decoupled_decay};
}

}  // namespace gg
