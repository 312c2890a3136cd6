// SPDX-License-Identifier: Apache-2.0
//
// Caffe's "CIFAR-10 quick" (examples/cifar10/cifar10_quick_train_test.prototxt). The initial weights are xavier, not Caffe's
// tiny Gaussians.
#include "model/ops/convolution.h"
#include "model/ops/linear.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {

absl::StatusOr<Graph> CifarNet(const ZooOptions& options) {
  const PoolOptions max = CaffePool(PoolOptions::kMax, 3, 2);
  const PoolOptions mean = CaffePool(PoolOptions::kAverage, 3, 2);
  Net net("cifarnet", options);
  net.Add<Convolution>("conv1", {.out_channels = 32, .window = Square(5, 1, 2)});
  net.Add<Pool>("pool1", max);
  net.Relu("relu1");
  net.Add<Convolution>("conv2", {.out_channels = 32, .window = Square(5, 1, 2)});
  net.Relu("relu2");
  net.Add<Pool>("pool2", mean);
  net.Add<Convolution>("conv3", {.out_channels = 64, .window = Square(5, 1, 2)});
  net.Relu("relu3");
  net.Add<Pool>("pool3", mean);
  net.Flatten("flatten");
  net.Add<Linear>("fc1", {.out_features = 64});
  net.Add<Linear>("fc2", {.out_features = options.classes});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
