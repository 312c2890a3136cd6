// SPDX-License-Identifier: Apache-2.0
//
// He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, CVPR 2016, as torchvision has it: names, initial weights,
// and the stride of a bottleneck in its 3x3 convolution. The mean over the image at the end takes images of any size.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {
namespace {

// A convolution without bias and the normalisation that follows it.
void ConvolutionNorm(Net& net, const std::string& convolution, const std::string& norm,
                     int64_t channels, const Window& window) {
  const auto fan_out = static_cast<double>(channels * window.kernel[0] * window.kernel[1]);
  net.Add<Convolution>(convolution, {.out_channels = channels,
                                     .window = window,
                                     .bias = false,
                                     .weight_initial = Normal(std::sqrt(2 / fan_out))});
  net.Add<BatchNorm>(norm, {});
}

// Two convolutions of 3x3, or 1x1, 3x3 and 1x1 to four times the channels; and what goes past them.
void ResidualBlock(Net& net, const std::string& name, int64_t channels, int64_t stride,
                   bool bottleneck) {
  const auto at = [&](const char* part) { return absl::StrCat(name, ".", part); };
  const ValueId input = net.value();
  const int64_t in_channels = net.shape()[1];
  const int64_t out_channels = bottleneck ? 4 * channels : channels;
  if (bottleneck) {
    ConvolutionNorm(net, at("conv1"), at("bn1"), channels, Square(1));
    net.Relu(at("relu1"));
    ConvolutionNorm(net, at("conv2"), at("bn2"), channels, Square(3, stride, 1));
    net.Relu(at("relu2"));
    ConvolutionNorm(net, at("conv3"), at("bn3"), out_channels, Square(1));
  } else {
    ConvolutionNorm(net, at("conv1"), at("bn1"), channels, Square(3, stride, 1));
    net.Relu(at("relu1"));
    ConvolutionNorm(net, at("conv2"), at("bn2"), channels, Square(3, 1, 1));
  }
  const ValueId residual = net.value();
  net.GoOnFrom(input);
  if (stride != 1 || in_channels != out_channels) {
    ConvolutionNorm(net, at("downsample.0"), at("downsample.1"), out_channels, Square(1, stride));
  }
  net.Join<Binary>(at("add"), {.kind = BinaryOptions::kAdd}, {residual, net.value()});
  net.Relu(at("relu"));
}

absl::StatusOr<Graph> ResNet(const char* name, const ZooOptions& options,
                             const std::vector<int>& blocks, bool bottleneck) {
  Net net(name, options);
  ConvolutionNorm(net, "conv1", "bn1", 64, Square(7, 2, 3));
  net.Relu("relu");
  net.Add<Pool>("maxpool", MaxPool(3, 2, 1));
  int64_t channels = 64;
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      ResidualBlock(net, absl::StrCat("layer", stage + 1, ".", block), channels,
                    stage > 0 && block == 0 ? 2 : 1, bottleneck);
    }
    channels *= 2;
  }
  net.Add<Pool>("avgpool", GlobalMean());
  net.Flatten("flatten");
  const Initializer initial = Uniform(1 / std::sqrt(static_cast<double>(net.shape()[1])));
  net.Add<Linear>(
      "fc", {.out_features = options.classes, .weight_initial = initial, .bias_initial = initial});
  net.Head();
  return std::move(net).Build();
}

}  // namespace

absl::StatusOr<Graph> ResNet18(const ZooOptions& options) {
  return ResNet("resnet18", options, {2, 2, 2, 2}, /*bottleneck=*/false);
}

absl::StatusOr<Graph> ResNet50(const ZooOptions& options) {
  return ResNet("resnet50", options, {3, 4, 6, 3}, /*bottleneck=*/true);
}

}  // namespace gg::model::zoo
