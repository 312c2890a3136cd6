// SPDX-License-Identifier: Apache-2.0
//
// Optimizers work block by block, so that the exchange decides when a block is updated; learning
// rates are a pure function of the step. docs/optimizers.md has the rules and their sources.
// Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_OPTIM_OPTIMIZER_H_
#define GOSSIPGRAD_WORKER_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/spec/job_spec.h"
#include "kernels/device.h"
#include "worker/nn/param_arena.h"

namespace gg {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Applies the block's gradient, which is that of `step` (0-based), with the rate of that step.
  // Everything outside the block is untouched. The result depends on the arguments and the arenas
  // alone: updates may come late, and blocks in any order.
  virtual absl::Status Update(BlockIndex block, uint64_t step, double rate) = 0;
  // The same for `count` floats from `offset` of the arenas on. Piece by piece it gives the same
  // bits as block by block. kInvalidArgument: the range is not inside the arenas, or the rule needs
  // whole layers.
  virtual absl::Status UpdateRange(size_t offset, size_t count, uint64_t step, double rate) = 0;
};

// Gives the arena the state that the rule needs, zeroed: before anybody else has views of it.
// kInvalidArgument: what Validate finds in the specification, or patterns that do not fit the names
// of the parameters. The other arguments must outlive the optimizer.
absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const OptimizerSpec& spec, Device& device,
                                                         Stream& stream, ParamArena& arena);

// The rate of `step` (0-based) when an epoch has `steps_per_epoch` steps and the run `total_steps`,
// on `workers` workers. Formulae, with t = step, T = total_steps, e = t / steps_per_epoch, W =
// warm-up steps, base' = base scaled for the workers and bounded by max_scaled:
//   during warm-up (t < W)   base' * (t + 1) / W, times the policy's factor at t
//   constant 1 | step gamma^floor(e / step_epochs) | multi-step gamma^(number of milestones <= e) |
//   exponential gamma^e | inverse (1 + gamma t)^-power | poly (1 - t/T)^power |
//   cosine floor + (1 - floor) (1 + cos(pi t/T)) / 2
double LearningRate(const LearningRateSpec& spec, uint64_t step, uint64_t steps_per_epoch,
                    uint64_t total_steps, int workers);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_OPTIM_OPTIMIZER_H_
