// SPDX-License-Identifier: Apache-2.0
#include "model/graph.h"

#include <functional>
#include <limits>
#include <ostream>

#include "gmock/gmock.h"
#include "model/builder.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/ops/shape_ops.h"

namespace gg::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// input -> conv1 -> bn1 -> sum of conv1 and bn1 -> flatten -> fc
Graph Sound() {
  Builder net("net", {3, 4, 4});
  const ValueId conv = net.Add<Convolution>(
      "conv1", ConvolutionOptions{.out_channels = 2, .bias = false}, {net.input()});
  const ValueId norm = net.Add<BatchNorm>("bn1", BatchNormOptions{}, {conv});
  const ValueId sum = net.Add<Binary>("sum", BinaryOptions{}, {conv, norm});
  const ValueId flat = net.Add<Flatten>("flatten", FlattenOptions{}, {sum});
  net.AddHead({.value = net.Add<Linear>("fc", LinearOptions{.out_features = 5}, {flat})});
  return std::move(net).Build().value();
}

TEST(Graph, ShapesFollowTheBatch) {
  const Graph graph = Sound();
  const auto shapes = InferShapes(graph, 7);
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_THAT(*shapes, ElementsAre(Shape{7, 3, 4, 4}, Shape{7, 2, 4, 4}, Shape{7, 2, 4, 4},
                                   Shape{7, 2, 4, 4}, Shape{7, 32}, Shape{7, 5}));
  EXPECT_EQ(ParameterCount(graph), 6 + 4 + 160 + 5);
}

TEST(Graph, NormalisationJoinsTheBlockBefore) {
  const auto blocks = Blocks(Sound());
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].name, "conv1");
  EXPECT_THAT(blocks[0].parameters, ElementsAre(0, 1, 2));
  EXPECT_EQ(blocks[1].name, "fc");
  EXPECT_THAT(blocks[1].parameters, ElementsAre(3, 4));
}

TEST(Graph, NormalisationWithNothingBeforeIsABlock) {
  Builder net("net", {3});
  const ValueId norm = net.Add<BatchNorm>("bn", BatchNormOptions{}, {net.input()});
  net.AddHead({.value = norm});
  const auto blocks = Blocks(std::move(net).Build().value());
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].name, "bn");
}

struct Damage {
  const char* name;
  std::function<void(Graph&)> make;
  const char* words;
};
void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.name;
}
class UnsoundGraph : public testing::TestWithParam<Damage> {};

TEST_P(UnsoundGraph, IsRefusedWithTheNodesName) {
  Graph graph = Sound();
  GetParam().make(graph);
  const auto status = InferShapes(graph, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    , UnsoundGraph,
    testing::Values(
        Damage{"UnknownInput", [](Graph& g) { g.nodes[1].inputs = {17}; },
               "bn1: reads value 17, which is unknown"},
        Damage{"NegativeInput", [](Graph& g) { g.nodes[1].inputs = {-1}; },
               "bn1: reads value -1, which is unknown"},
        Damage{"LateInput", [](Graph& g) { g.nodes[0].inputs = {5}; },
               "conv1: reads fc before it is made"},
        Damage{"OwnOutput", [](Graph& g) { g.nodes[1].inputs = {2}; },
               "bn1: reads bn1 before it is made"},
        Damage{"UnknownOutput", [](Graph& g) { g.nodes[1].outputs = {99}; },
               "bn1: makes value 99, which is unknown"},
        Damage{"OutputTwice", [](Graph& g) { g.nodes[1].outputs = {1}; },
               "bn1: makes conv1, which is there already"},
        Damage{"OutputIsTheInput", [](Graph& g) { g.nodes[1].outputs = {0}; },
               "bn1: makes input, which is there already"},
        Damage{"NoOutput", [](Graph& g) { g.nodes[4].outputs = {}; },
               "fc: has 0 outputs, its op makes 1"},
        Damage{"ValueOfNobody", [](Graph& g) { g.values.push_back("left"); },
               "value left: no node makes it"},
        Damage{"NoOp", [](Graph& g) { g.nodes[2].op = nullptr; }, "sum: has no op"},
        Damage{"NodeTwice", [](Graph& g) { g.nodes[1].name = "conv1"; },
               "node conv1: name used twice"},
        Damage{"NodeWithoutName", [](Graph& g) { g.nodes[1].name = ""; }, "a node has no name"},
        Damage{"ParameterTwice", [](Graph& g) { g.parameters[1].name = "conv1.weight"; },
               "parameter conv1.weight: name used twice"},
        Damage{"BufferLikeAParameter", [](Graph& g) { g.buffers[0].name = "conv1.weight"; },
               "buffer conv1.weight: name used twice"},
        Damage{"ValueTwice", [](Graph& g) { g.values[3] = "fc"; }, "value fc: name used twice"},
        Damage{"TooFewParameters", [](Graph& g) { g.nodes[4].parameters.pop_back(); },
               "fc: has 1 parameters, its op asks for 2"},
        Damage{"UnknownParameter", [](Graph& g) { g.nodes[4].parameters[0] = 40; },
               "fc: parameter 40 is unknown"},
        Damage{"SharedParameter", [](Graph& g) { g.nodes[4].parameters[1] = 0; },
               "fc: parameter conv1.weight belongs to another node already"},
        Damage{
            "ParameterOfNobody",
            [](Graph& g) { g.parameters.push_back({.name = "left", .shape = {1}, .initial = {}}); },
            "parameter left: no node uses it"},
        Damage{"ParameterShape",
               [](Graph& g) {
                 g.parameters[3].shape = {32, 5};
               },
               "fc: parameter fc.weight is 32x5, weight must be 5x32"},
        Damage{"ParameterValues",
               [](Graph& g) { g.parameters[4].values = std::make_shared<std::vector<float>>(4); },
               "fc: parameter fc.bias has 4 values, 5 holds 5"},
        Damage{"ParameterStart",
               [](Graph& g) {
                 g.parameters[0].initial.bound = std::numeric_limits<float>::infinity();
               },
               "parameter conv1.weight: initial values"},
        Damage{"TooFewBuffers", [](Graph& g) { g.nodes[1].buffers.clear(); },
               "bn1: has 0 buffers, its op asks for 2"},
        Damage{"BufferOfNobody",
               [](Graph& g) { g.buffers.push_back({.name = "left", .shape = {1}}); },
               "buffer left: no node uses it"},
        Damage{"NoInput", [](Graph& g) { g.input = 20; }, "the input is value 20"},
        Damage{"EmptyInput", [](Graph& g) { g.input_shape = {}; }, "no dimensions"},
        Damage{"InputShape", [](Graph& g) { g.input_shape[1] = -4; }, "dimension 2 is -4"},
        Damage{"OtherChannels", [](Graph& g) { g.input_shape[0] = 4; },
               "conv1: parameter conv1.weight is 2x3x1x1, weight must be 2x4x1x1"},
        Damage{"NoHead", [](Graph& g) { g.heads.clear(); }, "no head"},
        Damage{"UnknownHead", [](Graph& g) { g.heads[0].value = 6; }, "head 0 is value 6"},
        Damage{"HeadForTraining", [](Graph& g) { g.heads[0].training_only = true; },
               "head fc: the first head is the prediction"},
        Damage{"HeadWeight", [](Graph& g) { g.heads[0].weight = -1; }, "head fc: its weight is -1"},
        Damage{"Smoothing", [](Graph& g) { g.heads[0].loss.label_smoothing = 1; },
               "head fc: label smoothing is 1"},
        Damage{"SmoothingOfSquares",
               [](Graph& g) {
                 g.heads[0].loss = {.kind = Loss::kMeanSquared, .label_smoothing = 0.1};
               },
               "for softmax cross-entropy only"},
        Damage{"HeadWithoutBatch",
               [](Graph& g) {
                 g.nodes[3].op = std::make_shared<Reshape>(ReshapeOptions{.shape = {4, -1}});
                 g.nodes[4].op = std::make_shared<Reshape>(ReshapeOptions{.shape = {4, 16}});
                 g.nodes[4].parameters.clear();
                 g.parameters.resize(3);
               },
               "head fc: its value is 4x16 for a batch of 2"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Graph, ImpossibleBatchesAreRefused) {
  const Graph graph = Sound();
  for (const int64_t batch : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_THAT(InferShapes(graph, batch).status().message(), HasSubstr("must be at least 1"));
  }
  EXPECT_THAT(InferShapes(graph, int64_t{1} << 50).status().message(), HasSubstr("at most 2^40"));
}

}  // namespace
}  // namespace gg::model
