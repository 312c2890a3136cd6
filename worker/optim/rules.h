// SPDX-License-Identifier: Apache-2.0
//
// What the rules are made of. Behind MakeOptimizer; to add one: a file with its class, a line here
// and in registry.cc.
// Thread-safety: as Optimizer.
#ifndef GOSSIPGRAD_WORKER_OPTIM_RULES_H_
#define GOSSIPGRAD_WORKER_OPTIM_RULES_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/spec/job_spec.h"
#include "kernels/device.h"
#include "worker/nn/param_arena.h"
#include "worker/optim/optimizer.h"
#include "worker/optim/param_ranges.h"

namespace gg {

struct RuleParts {
  OptimizerSpec spec;
  Device* device;
  Stream* stream;
  ParamArena* arena;
  std::vector<ParamRange> ranges;  // of the parameters, one each
};

// Gaps between blocks stay zero under every rule: zero gradient, zero state and zero weight give
// zero.
class Rule : public Optimizer {
 public:
  explicit Rule(RuleParts parts) : parts_(std::move(parts)) {}
  absl::Status Update(BlockIndex block, uint64_t step, double rate) final;

 protected:
  // `rate` already has the factor of the range in it.
  virtual absl::Status Apply(const ParamRange& range, uint64_t step, double rate) = 0;
  // Applies the rule to what lies in these floats, range by range.
  absl::Status ApplyWithin(size_t offset, size_t count, uint64_t step, double rate);

  Device& device() const { return *parts_.device; }
  Stream& stream() const { return *parts_.stream; }
  const OptimizerSpec& spec() const { return parts_.spec; }
  static Flat Part(Flat arena, const ParamRange& range) {
    return arena.subspan(range.offset, range.count);
  }
  Flat Gradients(const ParamRange& range) { return Part(parts_.arena->gradients(), range); }
  Flat Weights(const ParamRange& range) { return Part(parts_.arena->weights(), range); }
  // Empty when there is no such vector.
  Flat State(int i, const ParamRange& range) {
    return i < parts_.arena->state_count() ? Part(parts_.arena->state(i), range) : Flat();
  }

  RuleParts parts_;
};

// Each element by itself: any piece of the arenas may be updated.
class ElementwiseRule : public Rule {
 public:
  explicit ElementwiseRule(RuleParts parts);
  absl::Status UpdateRange(size_t offset, size_t count, uint64_t step, double rate) final;
};

// What adam, adamw and lamb tell the device about a range in `step`.
AdamParams AdamParamsOf(const OptimizerSpec& spec, const ParamRange& range, uint64_t step,
                        double rate, bool decoupled_decay);

// Each parameter as a whole.
class LayerwiseRule : public Rule {
 public:
  using Rule::Rule;
  absl::Status UpdateRange(size_t offset, size_t count, uint64_t step, double rate) final;

 protected:
  absl::StatusOr<double> Norm(ConstFlat values);
  size_t LargestRange() const;
};

using MakeRule = absl::StatusOr<std::unique_ptr<Optimizer>> (*)(RuleParts parts);
absl::StatusOr<std::unique_ptr<Optimizer>> MakeSgd(RuleParts parts);         // sgd.cc
absl::StatusOr<std::unique_ptr<Optimizer>> MakeSgdPyTorch(RuleParts parts);  // sgd.cc
absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdam(RuleParts parts);        // adam.cc
absl::StatusOr<std::unique_ptr<Optimizer>> MakeAdamW(RuleParts parts);       // adam.cc
absl::StatusOr<std::unique_ptr<Optimizer>> MakeLars(RuleParts parts);        // lars.cc
absl::StatusOr<std::unique_ptr<Optimizer>> MakeLamb(RuleParts parts);        // lamb.cc

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_OPTIM_RULES_H_
