// SPDX-License-Identifier: Apache-2.0
//
// Batch normalisation per channel, for images and for vectors (kernels/device.h has the formula); epsilon 1e-5, running
// values follow with momentum 0.1. Parameters: gamma (C), one; beta (C), zero; they are part of the block of the layer
// below, whose exchange they share. Buffers: running mean (C), zero; running variance (C), one; inference uses them.
// Thread-safety: see worker/nn/layer.h.
#ifndef GOSSIPGRAD_WORKER_NN_LAYERS_BATCH_NORM_H_
#define GOSSIPGRAD_WORKER_NN_LAYERS_BATCH_NORM_H_

#include <memory>
#include <string>

#include "worker/nn/layer.h"

namespace gg {

std::unique_ptr<Layer> MakeBatchNormLayer(std::string name);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYERS_BATCH_NORM_H_
