// SPDX-License-Identifier: Apache-2.0
//
// Caffe's LeNet (examples/mnist/lenet_train_test.prototxt).
#include "model/ops/convolution.h"
#include "model/ops/linear.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {

absl::StatusOr<Graph> LeNet(const ZooOptions& options) {
  Net net("lenet", options);
  net.Add<Convolution>("conv1", {.out_channels = 20, .window = Square(5)});
  net.Add<Pool>("pool1", MaxPool(2, 2));
  net.Add<Convolution>("conv2", {.out_channels = 50, .window = Square(5)});
  net.Add<Pool>("pool2", MaxPool(2, 2));
  net.Flatten("flatten");
  net.Add<Linear>("fc1", {.out_features = 500});
  net.Relu("relu1");
  net.Add<Linear>("fc2", {.out_features = options.classes});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
