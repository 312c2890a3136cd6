// SPDX-License-Identifier: Apache-2.0
//
// Caffe's "CIFAR-10 full" (examples/cifar10/cifar10_full_train_test.prototxt), with its initial weights.
#include "absl/strings/str_cat.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {
namespace {

// Caffe's LRN of norm_region WITHIN_CHANNEL: x / (1 + alpha * mean of the squares of 3x3 pixels around)^0.75, where pixels
// outside the image count as 0.
void NormaliseWithinChannels(Net& net, const std::string& name) {
  const ValueId x = net.value();
  net.Join<Binary>(absl::StrCat(name, ".square"), {.kind = BinaryOptions::kMultiply}, {x, x});
  net.Add<Pool>(
      absl::StrCat(name, ".mean"),
      {.kind = PoolOptions::kAverage, .window = Square(3, 1, 1), .count_include_pad = true});
  net.Add<Unary>(absl::StrCat(name, ".scale"), {.kind = UnaryOptions::kAffine, .a = 5e-5, .b = 1});
  net.Add<Unary>(absl::StrCat(name, ".power"), {.kind = UnaryOptions::kPower, .a = -0.75});
  net.Join<Binary>(name, {.kind = BinaryOptions::kMultiply}, {x, net.value()});
}

}  // namespace

absl::StatusOr<Graph> CifarNetFull(const ZooOptions& options) {
  const PoolOptions mean = CaffePool(PoolOptions::kAverage, 3, 2);
  const Window window = Square(5, 1, 2);
  Net net("cifarnet-full", options);
  net.Add<Convolution>("conv1",
                       {.out_channels = 32, .window = window, .weight_initial = Normal(1e-4)});
  net.Add<Pool>("pool1", CaffePool(PoolOptions::kMax, 3, 2));
  net.Relu("relu1");
  NormaliseWithinChannels(net, "norm1");
  net.Add<Convolution>("conv2",
                       {.out_channels = 32, .window = window, .weight_initial = Normal(0.01)});
  net.Relu("relu2");
  net.Add<Pool>("pool2", mean);
  NormaliseWithinChannels(net, "norm2");
  net.Add<Convolution>("conv3",
                       {.out_channels = 64, .window = window, .weight_initial = Normal(0.01)});
  net.Relu("relu3");
  net.Add<Pool>("pool3", mean);
  net.Flatten("flatten");
  net.Add<Linear>("ip1", {.out_features = options.classes, .weight_initial = Normal(0.01)});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
