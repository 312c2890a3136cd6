// SPDX-License-Identifier: Apache-2.0
//
// Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015, configurations A and D,
// as torchvision has them (vgg11, vgg16): names and initial weights. torchvision averages the last maps to 7x7, which is what
// 224x224 gives anyway; here images of another size give the first fully connected layer another number of inputs.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {
namespace {

// `convolutions`: how many of them each of the five stages has before its pooling.
absl::StatusOr<Graph> Vgg(const char* name, const ZooOptions& options,
                          const std::vector<int>& convolutions) {
  Net net(name, options);
  int number = 0;
  const auto feature = [&] { return absl::StrCat("features.", number++); };
  int64_t channels = 64;
  for (const int count : convolutions) {
    for (int i = 0; i < count; ++i) {
      const double fan_out = static_cast<double>(channels) * 3 * 3;
      net.Add<Convolution>(feature(), {.out_channels = channels,
                                       .window = Square(3, 1, 1),
                                       .weight_initial = Normal(std::sqrt(2 / fan_out))});
      net.Relu(feature());
    }
    net.Add<Pool>(feature(), MaxPool(2, 2));
    channels = channels < 512 ? 2 * channels : channels;
  }
  net.Flatten("flatten");
  number = 0;
  const auto classifier = [&] { return absl::StrCat("classifier.", number++); };
  for (int i = 0; i < 2; ++i) {
    net.Add<Linear>(classifier(), {.out_features = 4096, .weight_initial = Normal(0.01)});
    net.Relu(classifier());
    net.Add<Dropout>(classifier(), {.probability = 0.5});
  }
  net.Add<Linear>(classifier(), {.out_features = options.classes, .weight_initial = Normal(0.01)});
  net.Head();
  return std::move(net).Build();
}

}  // namespace

absl::StatusOr<Graph> VggA(const ZooOptions& options) {
  return Vgg("vgg-a", options, {1, 1, 2, 2, 2});
}

absl::StatusOr<Graph> Vgg16(const ZooOptions& options) {
  return Vgg("vgg16", options, {2, 2, 3, 3, 3});
}

}  // namespace gg::model::zoo
