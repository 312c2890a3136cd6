// SPDX-License-Identifier: Apache-2.0
//
// Bounds on a worker's own gradient, before it is used or exchanged: of each value, then of the
// norm over all layers (Pascanu, Mikolov, Bengio, arXiv 1211.5063).
// docs/adr/0020-clip-before-the-exchange.md.
// Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_OPTIM_GRADIENT_CLIP_H_
#define GOSSIPGRAD_WORKER_OPTIM_GRADIENT_CLIP_H_

#include "absl/status/status.h"
#include "core/spec/job_spec.h"
#include "kernels/device.h"
#include "worker/nn/param_arena.h"

namespace gg {

class GradientClip {
 public:
  // The arguments but the first must outlive this.
  GradientClip(const OptimizerSpec& spec, Device& device, Stream& stream, ParamArena& arena)
      : value_(spec.clip_value),
        norm_(spec.clip_norm),
        device_(device),
        stream_(stream),
        arena_(arena) {}

  // The gradient of this block has been computed. Errors are the device's.
  absl::Status Block(BlockIndex block);
  // Nothing of a gradient may be used before All().
  bool needs_all() const { return norm_ > 0; }
  // After Block() of every block: g = g min(1, clip_norm / (|g| + 1e-6)), as in PyTorch. kInternal:
  // the norm is not finite.
  absl::Status All();

 private:
  const double value_, norm_;
  Device& device_;
  Stream& stream_;
  ParamArena& arena_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_OPTIM_GRADIENT_CLIP_H_
