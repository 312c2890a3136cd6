// SPDX-License-Identifier: Apache-2.0
//
// A network ready to train: layers bound to a device, activations planned, parameters in a ParamArena.
// The two hooks are the only contact with the exchange: a block is NEEDED before its layer's forward pass reads its
// parameters, and its gradient is READY when its layer's backward pass has written it (last layer first).
// Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_NN_NETWORK_H_
#define GOSSIPGRAD_WORKER_NN_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/ids.h"
#include "core/spec/job_spec.h"
#include "kernels/device.h"
#include "worker/nn/param_arena.h"

namespace gg {

struct InputShape {
  int64_t channels, height, width;
  int64_t floats() const { return channels * height * width; }
};

struct NetworkOptions {
  ModelSpec model;
  InputShape input;
  int64_t classes = 10;
  int64_t batch_size =
      1;              // samples of a training step; Evaluate takes any number in slices of this
  uint64_t seed = 0;  // initial weights (equal on all ranks) and dropout masks
  Rank rank = 0;      // separates the dropout streams of the ranks
};

using BlockNeeded = absl::FunctionRef<absl::Status(BlockIndex)>;
using GradientReady = absl::FunctionRef<absl::Status(BlockIndex)>;

class Network {
 public:
  virtual ~Network() = default;

  virtual ParamArena& arena() = 0;
  virtual int64_t batch_size() const = 0;

  // Training passes over exactly batch_size() samples. x (N,C,H,W) normalised. `step` seeds the dropout masks.
  // Errors of the hooks end the pass and are returned as they are.
  virtual absl::StatusOr<LossResult> Forward(uint64_t step, ConstFlat x,
                                             absl::Span<const int32_t> labels,
                                             BlockNeeded needed) = 0;
  // Gradients of the mean loss of the last Forward, into arena().gradients().
  virtual absl::Status Backward(GradientReady ready) = 0;

  // Inference on labels.size() samples, any number; no dropout, no hooks, gradients untouched.
  virtual absl::StatusOr<LossResult> Evaluate(ConstFlat x, absl::Span<const int32_t> labels) = 0;
};

// worker/nn/models/registry.cc. kInvalidArgument: unknown model (lists the known ones) or an input that is too small.
// `device` must outlive the network.
absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(Device& device, const NetworkOptions& options);
std::vector<absl::string_view> ModelNames();

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_NETWORK_H_
