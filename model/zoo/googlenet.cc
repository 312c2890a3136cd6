// SPDX-License-Identifier: Apache-2.0
//
// Szegedy et al.: Going Deeper with Convolutions, CVPR 2015, as Caffe has it (models/bvlc_googlenet/train_val.prototxt): with
// local response normalisation and two auxiliary classifiers of weight 0.3, for training only. Names are Caffe's. The mean over
// the image at the end takes images of any size that leaves the auxiliary classifiers their 5x5 windows.
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

constexpr double kBias = 0.2;

void Add(Net& net, const std::string& name, const std::string& relu, int64_t channels,
         const Window& window) {
  net.Add<Convolution>(
      name, {.out_channels = channels, .window = window, .bias_initial = Constant(kBias)});
  net.Relu(relu);
}

struct Widths {
  int64_t one, reduce3, three, reduce5, five, pool;
};

// Four branches over the same value, one after the other in the channels.
void Inception(Net& net, absl::string_view id, const Widths& widths) {
  const auto at = [&](absl::string_view part) { return absl::StrCat("inception_", id, "/", part); };
  const ValueId input = net.value();
  std::vector<ValueId> branches;
  const auto convolution = [&](const char* part, int64_t channels, const Window& window) {
    Add(net, at(part), at(absl::StrCat("relu_", part)), channels, window);
  };
  convolution("1x1", widths.one, Square(1));
  branches.push_back(net.value());
  net.GoOnFrom(input);
  convolution("3x3_reduce", widths.reduce3, Square(1));
  convolution("3x3", widths.three, Square(3, 1, 1));
  branches.push_back(net.value());
  net.GoOnFrom(input);
  convolution("5x5_reduce", widths.reduce5, Square(1));
  convolution("5x5", widths.five, Square(5, 1, 2));
  branches.push_back(net.value());
  net.GoOnFrom(input);
  net.Add<Pool>(at("pool"), CaffePool(PoolOptions::kMax, 3, 1, 1));
  convolution("pool_proj", widths.pool, Square(1));
  branches.push_back(net.value());
  net.Join<Concat>(at("output"), {}, std::move(branches));
}

// Leaves the value where it was.
void AuxiliaryClassifier(Net& net, const std::string& name, int64_t classes) {
  const auto at = [&](const char* part) { return absl::StrCat(name, "/", part); };
  const ValueId input = net.value();
  net.Add<Pool>(at("ave_pool"), CaffePool(PoolOptions::kAverage, 5, 3));
  Add(net, at("conv"), at("relu_conv"), 128, Square(1));
  net.Flatten(at("flatten"));
  net.Add<Linear>(at("fc"), {.out_features = 1024, .bias_initial = Constant(kBias)});
  net.Relu(at("relu_fc"));
  net.Add<Dropout>(at("drop_fc"), {.probability = 0.7});
  net.Add<Linear>(at("classifier"), {.out_features = classes});
  net.Head(0.3, /*training_only=*/true);
  net.GoOnFrom(input);
}

}  // namespace

absl::StatusOr<Graph> GoogLeNet(const ZooOptions& options) {
  const PoolOptions max = CaffePool(PoolOptions::kMax, 3, 2);
  Net net("googlenet", options);
  Add(net, "conv1/7x7_s2", "conv1/relu_7x7", 64, Square(7, 2, 3));
  net.Add<Pool>("pool1/3x3_s2", max);
  net.Add<Lrn>("pool1/norm1", {});
  Add(net, "conv2/3x3_reduce", "conv2/relu_3x3_reduce", 64, Square(1));
  Add(net, "conv2/3x3", "conv2/relu_3x3", 192, Square(3, 1, 1));
  net.Add<Lrn>("conv2/norm2", {});
  net.Add<Pool>("pool2/3x3_s2", max);
  Inception(net, "3a", {64, 96, 128, 16, 32, 32});
  Inception(net, "3b", {128, 128, 192, 32, 96, 64});
  net.Add<Pool>("pool3/3x3_s2", max);
  Inception(net, "4a", {192, 96, 208, 16, 48, 64});
  const ValueId first = net.value();
  Inception(net, "4b", {160, 112, 224, 24, 64, 64});
  Inception(net, "4c", {128, 128, 256, 24, 64, 64});
  Inception(net, "4d", {112, 144, 288, 32, 64, 64});
  const ValueId second = net.value();
  Inception(net, "4e", {256, 160, 320, 32, 128, 128});
  net.Add<Pool>("pool4/3x3_s2", max);
  Inception(net, "5a", {256, 160, 320, 32, 128, 128});
  Inception(net, "5b", {384, 192, 384, 48, 128, 128});
  net.Add<Pool>("pool5/7x7_s1", GlobalMean());
  net.Flatten("flatten");
  net.Add<Dropout>("pool5/drop_7x7_s1", {.probability = 0.4});
  net.Add<Linear>("loss3/classifier", {.out_features = options.classes});
  net.Head();
  net.GoOnFrom(first);
  AuxiliaryClassifier(net, "loss1", options.classes);
  net.GoOnFrom(second);
  AuxiliaryClassifier(net, "loss2", options.classes);
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
