// SPDX-License-Identifier: Apache-2.0
//
// Caffe's LeNet (examples/mnist/lenet_train_test.prototxt): 431,080 parameters for images of
// 28x28x1 and 10 classes.
#include "worker/nn/layers/convolution.h"
#include "worker/nn/layers/linear.h"
#include "worker/nn/layers/pooling.h"
#include "worker/nn/layers/relu.h"
#include "worker/nn/models/models.h"

namespace gg::models {

absl::StatusOr<Layers> LeNet(const NetworkOptions& options) {
  Layers net;
  net.push_back(MakeConvolution("conv1", {.out_channels = 20, .kernel = 5}));
  net.push_back(MakePooling("pool1", {.kind = PoolKind::kMax, .kernel = 2, .stride = 2}));
  net.push_back(MakeConvolution("conv2", {.out_channels = 50, .kernel = 5}));
  net.push_back(MakePooling("pool2", {.kind = PoolKind::kMax, .kernel = 2, .stride = 2}));
  net.push_back(MakeLinearLayer("fc1", 500));
  net.push_back(MakeRelu("relu1"));
  net.push_back(MakeLinearLayer("fc2", options.classes));
  return net;
}

}  // namespace gg::models
