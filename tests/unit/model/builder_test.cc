// SPDX-License-Identifier: Apache-2.0
#include "model/builder.h"

#include "gmock/gmock.h"
#include "model/ops/convolution.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/ops/shape_ops.h"

namespace gg::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Builder, NodesParametersAndValuesAreNamedAfterTheNode) {
  Builder net("net", {3, 8, 8});
  const ValueId conv =
      net.Add<Convolution>("layer1.0.conv1", ConvolutionOptions{.out_channels = 4}, {net.input()});
  const ValueId norm = net.Add<BatchNorm>("layer1.0.bn1", BatchNormOptions{}, {conv});
  EXPECT_THAT(net.shape(norm), ElementsAre(1, 4, 8, 8));
  net.AddHead({.value = norm});
  const auto graph = std::move(net).Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->values, ElementsAre("input", "layer1.0.conv1", "layer1.0.bn1"));
  std::vector<std::string> names;
  for (const Parameter& p : graph->parameters) names.push_back(p.name);
  EXPECT_THAT(names, ElementsAre("layer1.0.conv1.weight", "layer1.0.conv1.bias",
                                 "layer1.0.bn1.weight", "layer1.0.bn1.bias"));
  EXPECT_EQ(graph->buffers[1].name, "layer1.0.bn1.running_var");
  EXPECT_EQ(graph->buffers[1].initial, 1);
  EXPECT_EQ(ParameterCount(*graph), 4 * 3 + 4 + 4 + 4);
}

TEST(Builder, TheFirstErrorStaysAndNamesItsNode) {
  Builder net("net", {3, 8, 8});
  const ValueId conv = net.Add<Convolution>(
      "conv1", ConvolutionOptions{.out_channels = 4, .window = Square(9)}, {net.input()});
  EXPECT_EQ(conv, -1);
  EXPECT_THAT(net.shape(conv), ElementsAre(1, 1, 1, 1));
  const ValueId fc = net.Add<Linear>("fc", LinearOptions{.out_features = 0}, {conv});
  net.AddHead({.value = fc});
  const auto status = std::move(net).Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("conv1: its input of 8x8 is smaller than its window"));
}

TEST(Builder, UnknownValuesAreRefused) {
  for (const ValueId unknown : {-1, 1, 1000}) {
    Builder net("net", {3});
    EXPECT_EQ(net.Add<Linear>("fc", LinearOptions{.out_features = 2}, {unknown}), -1);
    EXPECT_THAT(std::move(net).Build().status().message(), HasSubstr("fc: reads value"));
  }
}

TEST(Builder, AnImpossibleInputIsAnError) {
  EXPECT_THAT(Builder("net", {3, 0, 8}).Build().status().message(),
              HasSubstr("the input is 3x0x8: dimension 1 is 0"));
}

TEST(Builder, AnOpThatFixesTheBatchIsFound) {
  Builder net("net", {4});
  const ValueId fixed = net.Add<Reshape>("fixed", ReshapeOptions{.shape = {1, 4}}, {net.input()});
  EXPECT_NE(fixed, -1);
  net.AddHead({.value = fixed});
  EXPECT_THAT(std::move(net).Build().status().message(), HasSubstr("fixed: its input is 2x4"));
}

TEST(Builder, ANetworkWithoutHeadIsAnError) {
  EXPECT_THAT(Builder("net", {4}).Build().status().message(), HasSubstr("no head"));
}

}  // namespace
}  // namespace gg::model
