// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/models/from_graph.h"

#include <functional>
#include <ostream>

#include "gmock/gmock.h"
#include "model/builder.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/ops/pooling.h"
#include "model/ops/reductions.h"
#include "model/ops/shape_ops.h"
#include "model/zoo/zoo.h"

namespace gg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Names(const std::vector<std::unique_ptr<Layer>>& layers) {
  std::vector<std::string> names;
  for (const auto& layer : layers) names.push_back(layer->name());
  return names;
}

TEST(FromGraph, AChainBecomesItsLayers) {
  const auto graph = model::MakeZooModel("cifarnet", {.input = {3, 32, 32}});
  const auto layers = LayersFromGraph(*graph);
  ASSERT_TRUE(layers.ok()) << layers.status();
  EXPECT_THAT(Names(*layers), ElementsAre("conv1", "pool1", "relu1", "conv2", "relu2", "pool2",
                                          "conv3", "relu3", "pool3", "fc1", "fc2"));
}

TEST(FromGraph, EveryNetworkOfTheZooIsBuiltOrRefusedByNode) {
  for (const model::ZooEntry& entry : model::Zoo()) {
    const auto graph = model::MakeZooModel(
        entry.name, {.input = entry.usual_input, .classes = entry.usual_classes});
    const auto status = LayersFromGraph(*graph).status();
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << entry.name;
    EXPECT_THAT(status.message(), HasSubstr(": this engine cannot compute yet: ")) << entry.name;
  }
}

// A network of one node `op` over `input` and a classifier.
struct Case {
  const char* name;
  model::Shape input;
  std::function<model::ValueId(model::Builder&)> build;
  const char* words;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
class NotYet : public testing::TestWithParam<Case> {};

TEST_P(NotYet, NamesNodeAndOp) {
  model::Builder net("net", GetParam().input);
  net.AddHead({.value = GetParam().build(net)});
  const auto graph = std::move(net).Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto status = LayersFromGraph(*graph).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), HasSubstr(GetParam().words));
}

template <typename O>
std::function<model::ValueId(model::Builder&)> One(decltype(O::options) options) {
  return [options](model::Builder& net) {
    return net.Add("node", std::make_shared<const O>(options), {net.input()});
  };
}

model::ConvolutionOptions Filters(model::Window window, int64_t groups = 1) {
  return {.out_channels = 4, .window = window, .groups = groups};
}

const model::Shape kImage = {4, 8, 8};
INSTANTIATE_TEST_SUITE_P(
    , NotYet,
    testing::Values(
        Case{"Groups", kImage, One<model::Convolution>(Filters(model::Square(3), 2)),
             "node: this engine cannot compute yet: convolution of 4 filters of 3x3, 2 groups"},
        Case{"Oblong", kImage, One<model::Convolution>(Filters({.kernel = {1, 3}})),
             "convolution of 4 filters of 1x3"},
        Case{"Lopsided", kImage, One<model::Convolution>(Filters({.pad = {0, 0, 1, 1}})),
             "pad top 0 left 0 bottom 1 right 1"},
        Case{"Dilation", kImage,
             One<model::Convolution>(Filters({.kernel = {3, 3}, .dilation = {2, 2}})),
             "dilation 2"},
        Case{"Gaussian", kImage,
             One<model::Convolution>(
                 {.out_channels = 4,
                  .weight_initial = model::Initializer{model::Initializer::kNormal, 0.1f, 0}}),
             "node: this engine cannot compute yet: convolution whose node.weight starts"},
        Case{"Bias", {5},
             One<model::Linear>({.out_features = 4, .bias_initial = model::Initializer{
                                                        model::Initializer::kConstant, 0, 1}}),
             "linear whose node.bias starts"},
        Case{"PaddedPool", kImage, One<model::Pool>({.window = model::Square(3, 2, 1)}),
             "pool, maximum of 3x3, stride 2, pad 1"},
        Case{"GlobalPool", kImage, One<model::Pool>({.global = true}), "pool, maximum of the image"},
        Case{"Sigmoid", kImage, One<model::Unary>({.kind = model::UnaryOptions::kSigmoid}),
             "node: this engine cannot compute yet: unary, sigmoid"},
        Case{"Epsilon", kImage, One<model::BatchNorm>({.epsilon = 1e-3}),
             "batch_norm with epsilon 0.001"},
        Case{"Gamma", kImage, One<model::BatchNorm>({.weight_initial = 0}),
             "batch_norm whose node.weight starts"},
        Case{"LinearOverRows", kImage, One<model::Linear>({.out_features = 4}),
             "linear over 1x4x8x8: flatten first"},
        Case{"Softmax", {4}, One<model::Softmax>({}), "node: this engine cannot compute yet: softmax"},
        Case{"FlattenElsewhere", kImage,
             [](model::Builder& net) {
               return net.Add<model::Reshape>("node", model::ReshapeOptions{.shape = {0, -1}},
                                              {net.input()});
             },
             "node: this engine cannot compute yet: reshape, to 0x-1"},
        Case{"Branch", kImage,
             [](model::Builder& net) {
               const auto relu =
                   net.Add<model::Unary>("relu", model::UnaryOptions{}, {net.input()});
               return net.Add<model::Binary>("sum", model::BinaryOptions{}, {relu, net.input()});
             },
             "sum: this engine cannot compute yet: binary that does not read just the node before"},
        Case{"HeadInTheMiddle", {4},
             [](model::Builder& net) {
               const auto fc =
                   net.Add<model::Linear>("fc", model::LinearOptions{.out_features = 3},
                                          {net.input()});
               net.Add<model::Unary>("relu", model::UnaryOptions{}, {fc});
               return fc;
             },
             "other heads than one softmax cross-entropy"}),
    [](const auto& tested) { return tested.param.name; });

TEST(FromGraph, ValuesFromAFileAndUnsoundGraphsAreRefused) {
  auto graph = *model::MakeZooModel("lenet", {.input = {1, 28, 28}});
  graph.parameters[1].values = std::make_shared<std::vector<float>>(20);
  EXPECT_THAT(LayersFromGraph(graph).status().message(), HasSubstr("conv1.bias starts otherwise"));
  graph.nodes[0].inputs = {3};
  EXPECT_THAT(LayersFromGraph(graph).status().message(), HasSubstr("before it is made"));
}

}  // namespace
}  // namespace gg
