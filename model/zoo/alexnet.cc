// SPDX-License-Identifier: Apache-2.0
//
// Krizhevsky, Sutskever, Hinton: ImageNet Classification with Deep Convolutional Neural Networks, NIPS 2012, as Caffe has it
// (models/bvlc_alexnet/train_val.prototxt): with groups and local response normalisation; names and initial weights are its.
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {
namespace {

ConvolutionOptions Filters(int64_t channels, const Window& window, int64_t groups, double bias) {
  return {.out_channels = channels,
          .window = window,
          .groups = groups,
          .weight_initial = Normal(0.01),
          .bias_initial = Constant(bias)};
}

LinearOptions Features(int64_t features, double deviation, double bias) {
  return {.out_features = features,
          .weight_initial = Normal(deviation),
          .bias_initial = Constant(bias)};
}

}  // namespace

absl::StatusOr<Graph> AlexNet(const ZooOptions& options) {
  const PoolOptions max = CaffePool(PoolOptions::kMax, 3, 2);
  Net net("alexnet", options);
  net.Add<Convolution>("conv1", Filters(96, Square(11, 4), 1, 0));
  net.Relu("relu1");
  net.Add<Lrn>("norm1", {});
  net.Add<Pool>("pool1", max);
  net.Add<Convolution>("conv2", Filters(256, Square(5, 1, 2), 2, 0.1));
  net.Relu("relu2");
  net.Add<Lrn>("norm2", {});
  net.Add<Pool>("pool2", max);
  net.Add<Convolution>("conv3", Filters(384, Square(3, 1, 1), 1, 0));
  net.Relu("relu3");
  net.Add<Convolution>("conv4", Filters(384, Square(3, 1, 1), 2, 0.1));
  net.Relu("relu4");
  net.Add<Convolution>("conv5", Filters(256, Square(3, 1, 1), 2, 0.1));
  net.Relu("relu5");
  net.Add<Pool>("pool5", max);
  net.Flatten("flatten");
  net.Add<Linear>("fc6", Features(4096, 0.005, 0.1));
  net.Relu("relu6");
  net.Add<Dropout>("drop6", {.probability = 0.5});
  net.Add<Linear>("fc7", Features(4096, 0.005, 0.1));
  net.Relu("relu7");
  net.Add<Dropout>("drop7", {.probability = 0.5});
  net.Add<Linear>("fc8", Features(options.classes, 0.01, 0));
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
