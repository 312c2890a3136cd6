// SPDX-License-Identifier: Apache-2.0
//
// The bias of a layer that may have none (normalisation follows and would remove it): the second of the layer's
// parameters, or a zero vector of its own and a place for a gradient that nobody reads, because device operations
// always have a bias. Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_NN_LAYERS_BIAS_H_
#define GOSSIPGRAD_WORKER_NN_LAYERS_BIAS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "core/status.h"
#include "worker/nn/layer.h"

namespace gg {

class Bias {
 public:
  absl::Status Bind(Device& device, bool present, int64_t count) {
    if (present) return absl::OkStatus();
    const size_t bytes = static_cast<size_t>(count) * sizeof(float);
    GG_ASSIGN_OR_RETURN(zero_, device.Allocate(bytes));
    GG_ASSIGN_OR_RETURN(unused_, device.Allocate(bytes));
    return absl::OkStatus();
  }

  ConstFlat value(Tensors weights) const { return zero_ ? zero_->floats() : weights[1]; }
  Flat gradient(Tensors gradients) const { return unused_ ? unused_->floats() : gradients[1]; }

 private:
  std::unique_ptr<Buffer> zero_, unused_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYERS_BIAS_H_
