// SPDX-License-Identifier: Apache-2.0
//
// Fully connected layer over the flattened input. Parameters: weight (O,I), uniform
// within sqrt(3 / I) (Caffe's xavier); bias (O), zero,
// unless there is none. Thread-safety: see worker/nn/layer.h.
#ifndef GOSSIPGRAD_WORKER_NN_LAYERS_LINEAR_H_
#define GOSSIPGRAD_WORKER_NN_LAYERS_LINEAR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "worker/nn/layer.h"

namespace gg {

std::unique_ptr<Layer> MakeLinearLayer(std::string name, int64_t out_features, bool bias = true);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYERS_LINEAR_H_
