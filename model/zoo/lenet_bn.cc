// SPDX-License-Identifier: Apache-2.0
//
// LeNet with batch normalisation after each convolution and after the hidden fully connected layer, which have no bias:
// normalisation would remove it.
// As in LeNet no ReLU follows the convolutions, so that bn2 removes what the bias of bn1 adds, and bn3 that of bn2: these
// stay where they start.
#include "model/ops/convolution.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {

absl::StatusOr<Graph> LeNetBn(const ZooOptions& options) {
  Net net("lenet-bn", options);
  net.Add<Convolution>("conv1", {.out_channels = 20, .window = Square(5), .bias = false});
  net.Add<BatchNorm>("bn1", {});
  net.Add<Pool>("pool1", MaxPool(2, 2));
  net.Add<Convolution>("conv2", {.out_channels = 50, .window = Square(5), .bias = false});
  net.Add<BatchNorm>("bn2", {});
  net.Add<Pool>("pool2", MaxPool(2, 2));
  net.Flatten("flatten");
  net.Add<Linear>("fc1", {.out_features = 500, .bias = false});
  net.Add<BatchNorm>("bn3", {});
  net.Relu("relu1");
  net.Add<Linear>("fc2", {.out_features = options.classes});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
