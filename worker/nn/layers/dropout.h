// SPDX-License-Identifier: Apache-2.0
//
// In training each value is dropped with probability p and the others are scaled by 1/(1-p); absent
// at inference. The mask is a pure function of (seed, layer name, rank, step). Thread-safety: see
// worker/nn/layer.h.
#ifndef GOSSIPGRAD_WORKER_NN_LAYERS_DROPOUT_H_
#define GOSSIPGRAD_WORKER_NN_LAYERS_DROPOUT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "worker/nn/layer.h"

namespace gg {

std::unique_ptr<Layer> MakeDropout(std::string name, double probability);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYERS_DROPOUT_H_
