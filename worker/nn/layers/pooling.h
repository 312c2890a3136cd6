// SPDX-License-Identifier: Apache-2.0
//
// Max and average pooling over square windows.
// Thread-safety: see worker/nn/layer.h.
#ifndef GOSSIPGRAD_WORKER_NN_LAYERS_POOLING_H_
#define GOSSIPGRAD_WORKER_NN_LAYERS_POOLING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "worker/nn/layer.h"

namespace gg {

struct PoolingOptions {
  PoolKind kind;
  int64_t kernel;
  int64_t stride;
  bool ceil_mode = false;
};

std::unique_ptr<Layer> MakePooling(std::string name, const PoolingOptions& options);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYERS_POOLING_H_
