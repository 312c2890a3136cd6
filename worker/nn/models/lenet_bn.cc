// SPDX-License-Identifier: Apache-2.0
//
// LeNet with batch normalisation after each convolution and after the hidden fully connected layer, which have no bias:
// normalisation would remove it. 431,650 parameters and 1,140 running statistics for images of 28x28x1 and 10 classes.
// As in LeNet no ReLU follows the convolutions, so that bn2 removes what the beta of bn1 adds, and bn3 that of bn2: these
// stay where they start.
#include "worker/nn/layers/batch_norm.h"
#include "worker/nn/layers/convolution.h"
#include "worker/nn/layers/linear.h"
#include "worker/nn/layers/pooling.h"
#include "worker/nn/layers/relu.h"
#include "worker/nn/models/models.h"

namespace gg::models {

absl::StatusOr<Layers> LeNetBn(const NetworkOptions& options) {
  const PoolingOptions max{.kind = PoolKind::kMax, .kernel = 2, .stride = 2};
  Layers net;
  net.push_back(MakeConvolution("conv1", {.out_channels = 20, .kernel = 5, .bias = false}));
  net.push_back(MakeBatchNormLayer("bn1"));
  net.push_back(MakePooling("pool1", max));
  net.push_back(MakeConvolution("conv2", {.out_channels = 50, .kernel = 5, .bias = false}));
  net.push_back(MakeBatchNormLayer("bn2"));
  net.push_back(MakePooling("pool2", max));
  net.push_back(MakeLinearLayer("fc1", 500, /*bias=*/false));
  net.push_back(MakeBatchNormLayer("bn3"));
  net.push_back(MakeRelu("relu1"));
  net.push_back(MakeLinearLayer("fc2", options.classes));
  return net;
}

}  // namespace gg::models
