// SPDX-License-Identifier: Apache-2.0
//
// Convolution with bias over square kernels. Parameters: weight (O,C,K,K), uniform within sqrt(3 /
// fan-in) (Caffe's xavier); bias (O), zero. Thread-safety: see worker/nn/layer.h.
#ifndef GOSSIPGRAD_WORKER_NN_LAYERS_CONVOLUTION_H_
#define GOSSIPGRAD_WORKER_NN_LAYERS_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "worker/nn/layer.h"

namespace gg {

struct ConvolutionOptions {
  int64_t out_channels;
  int64_t kernel;
  int64_t stride = 1;
  int64_t pad = 0;
  bool bias = true;
};

std::unique_ptr<Layer> MakeConvolution(std::string name, const ConvolutionOptions& options);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYERS_CONVOLUTION_H_
