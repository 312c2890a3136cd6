// SPDX-License-Identifier: Apache-2.0
//
// The network of 20 layers for CIFAR of He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, CVPR 2016, section
// 4.2, with its shortcut without parameters (option A): every second pixel, new channels zero.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/ops/shape_ops.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {
namespace {

void ConvolutionNorm(Net& net, const std::string& convolution, const std::string& norm,
                     int64_t channels, int64_t stride) {
  const auto fan_in = static_cast<double>(net.shape()[1] * 3 * 3);
  net.Add<Convolution>(convolution, {.out_channels = channels,
                                     .window = Square(3, stride, 1),
                                     .bias = false,
                                     .weight_initial = Normal(std::sqrt(2 / fan_in))});
  net.Add<BatchNorm>(norm, {});
}

void Shortcut(Net& net, const std::string& name, int64_t channels, int64_t stride) {
  if (stride == 1) return;
  const Shape in = net.shape();
  net.Add<Slice>(absl::StrCat(name, ".rows"), {.axis = 2, .end = in[2], .step = stride});
  net.Add<Slice>(absl::StrCat(name, ".columns"), {.axis = 3, .end = in[3], .step = stride});
  const int64_t added = channels - in[1];
  net.Add<Pad>(absl::StrCat(name, ".channels"),
               {.before = {0, added / 2, 0, 0}, .after = {0, added - added / 2, 0, 0}});
}

}  // namespace

absl::StatusOr<Graph> ResNet20(const ZooOptions& options) {
  constexpr int kStages = 3, kBlocks = 3;
  Net net("resnet20", options);
  ConvolutionNorm(net, "conv1", "bn1", 16, 1);
  net.Relu("relu");
  for (int stage = 0; stage < kStages; ++stage) {
    const int64_t channels = int64_t{16} << stage;
    for (int block = 0; block < kBlocks; ++block) {
      const std::string name = absl::StrCat("layer", stage + 1, ".", block);
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const ValueId input = net.value();
      ConvolutionNorm(net, absl::StrCat(name, ".conv1"), absl::StrCat(name, ".bn1"), channels,
                      stride);
      net.Relu(absl::StrCat(name, ".relu1"));
      ConvolutionNorm(net, absl::StrCat(name, ".conv2"), absl::StrCat(name, ".bn2"), channels, 1);
      const ValueId residual = net.value();
      net.GoOnFrom(input);
      Shortcut(net, absl::StrCat(name, ".shortcut"), channels, stride);
      net.Join<Binary>(absl::StrCat(name, ".add"), {.kind = BinaryOptions::kAdd},
                       {residual, net.value()});
      net.Relu(absl::StrCat(name, ".relu"));
    }
  }
  net.Add<Pool>("avgpool", GlobalMean());
  net.Flatten("flatten");
  const auto fan_in = static_cast<double>(net.shape()[1]);
  net.Add<Linear>(
      "fc", {.out_features = options.classes, .weight_initial = Normal(std::sqrt(2 / fan_in))});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
