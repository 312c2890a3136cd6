// SPDX-License-Identifier: Apache-2.0
//
// max(x, 0), in place.
// Thread-safety: see worker/nn/layer.h.
#ifndef GOSSIPGRAD_WORKER_NN_LAYERS_RELU_H_
#define GOSSIPGRAD_WORKER_NN_LAYERS_RELU_H_

#include <cstdint>
#include <memory>
#include <string>

#include "worker/nn/layer.h"

namespace gg {

std::unique_ptr<Layer> MakeRelu(std::string name);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYERS_RELU_H_
