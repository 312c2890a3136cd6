// SPDX-License-Identifier: Apache-2.0
//
// Caffe's "CIFAR-10 quick" (examples/cifar10/cifar10_quick_train_test.prototxt): 145,578 parameters
// for images of 32x32x3 and 10 classes. The initial weights are those of all models here, not
// Caffe's tiny Gaussians.
#include "worker/nn/layers/convolution.h"
#include "worker/nn/layers/linear.h"
#include "worker/nn/layers/pooling.h"
#include "worker/nn/layers/relu.h"
#include "worker/nn/models/models.h"

namespace gg::models {

absl::StatusOr<Layers> CifarNet(const NetworkOptions& options) {
  const PoolingOptions max{.kind = PoolKind::kMax, .kernel = 3, .stride = 2, .ceil_mode = true};
  const PoolingOptions average{
      .kind = PoolKind::kAverage, .kernel = 3, .stride = 2, .ceil_mode = true};
  Layers net;
  net.push_back(MakeConvolution("conv1", {.out_channels = 32, .kernel = 5, .pad = 2}));
  net.push_back(MakePooling("pool1", max));
  net.push_back(MakeRelu("relu1"));
  net.push_back(MakeConvolution("conv2", {.out_channels = 32, .kernel = 5, .pad = 2}));
  net.push_back(MakeRelu("relu2"));
  net.push_back(MakePooling("pool2", average));
  net.push_back(MakeConvolution("conv3", {.out_channels = 64, .kernel = 5, .pad = 2}));
  net.push_back(MakeRelu("relu3"));
  net.push_back(MakePooling("pool3", average));
  net.push_back(MakeLinearLayer("fc1", 64));
  net.push_back(MakeLinearLayer("fc2", options.classes));
  return net;
}

}  // namespace gg::models
