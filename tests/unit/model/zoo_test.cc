// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/zoo.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <ostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace gg::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

absl::StatusOr<Graph> Usual(absl::string_view name) {
  for (const ZooEntry& entry : Zoo()) {
    if (entry.name != name) continue;
    return MakeZooModel(name, {.input = entry.usual_input, .classes = entry.usual_classes});
  }
  return absl::NotFoundError("not in the table");
}

int64_t Work(const Graph& graph) {
  const auto shapes = InferShapes(graph, 1).value();
  int64_t work = 0;
  for (const Node& node : graph.nodes) {
    std::vector<Shape> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(shapes[v]);
    work += node.op->Describe(inputs)->multiply_adds;
  }
  return work;
}

struct Known {
  const char* name;
  int64_t parameters, buffers, multiply_adds;
  size_t blocks, heads;
};
void PrintTo(const Known& known, std::ostream* out) {
  *out << known.name;
}
class ZooModel : public testing::TestWithParam<Known> {};

TEST_P(ZooModel, HasTheParametersAndTheWorkOfItsSource) {
  const auto graph = Usual(GetParam().name);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->name, GetParam().name);
  EXPECT_EQ(ParameterCount(*graph), GetParam().parameters);
  int64_t buffers = 0;
  for (const Buffer& b : graph->buffers) buffers += Elements(b.shape);
  EXPECT_EQ(buffers, GetParam().buffers);
  EXPECT_EQ(Work(*graph), GetParam().multiply_adds);
  EXPECT_EQ(Blocks(*graph).size(), GetParam().blocks);
  EXPECT_EQ(graph->heads.size(), GetParam().heads);
}

TEST_P(ZooModel, TakesAnotherNumberOfClassesAndBatch) {
  for (const ZooEntry& entry : Zoo()) {
    if (entry.name != GetParam().name) continue;
    const auto graph = MakeZooModel(entry.name, {.input = entry.usual_input, .classes = 7});
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto shapes = InferShapes(*graph, 3);
    ASSERT_TRUE(shapes.ok()) << shapes.status();
    for (const Head& head : graph->heads) EXPECT_THAT((*shapes)[head.value], ElementsAre(3, 7));
  }
}

// Parameters of the networks that torchvision has are those of its models; the others were counted with PyTorch from the
// sources' descriptions. Running statistics: two for each channel of a batch normalisation.
const Known kKnown[] = {
    {"lenet", 431080, 0, 2293000, 4, 1},
    {"lenet-bn", 431650, 1140, 2293000, 4, 1},
    {"cifarnet", 145578, 0, 12354176, 5, 1},
    {"cifarnet-full", 89578, 0, 12298240, 4, 1},
    {"mlp", 407050, 0, 406528, 2, 1},
    {"cd-dnn", 45122648, 0, 45099008, 8, 1},
    {"resnet20", 269722, 1376, 40551040, 20, 1},
    {"resnet18", 11689512, 9600, 1814073344, 21, 1},
    {"resnet50", 25557032, 53120, 4089184256, 54, 1},
    {"googlenet", 13378280, 0, 1591044096, 64, 3},
    {"vgg-a", 132863336, 0, 7609090048, 11, 1},
    {"vgg16", 138357544, 0, 15470264320, 16, 1},
    {"alexnet", 60965224, 0, 724406816, 8, 1},
    {"overfeat-fast", 145920872, 0, 2801403904, 8, 1},
};
INSTANTIATE_TEST_SUITE_P(, ZooModel, testing::ValuesIn(kKnown), [](const auto& tested) {
  std::string name = tested.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(ZooTable, EveryEntryHasASourceAndACaseAbove) {
  ASSERT_EQ(Zoo().size(), std::size(kKnown));
  for (size_t i = 0; i < Zoo().size(); ++i) {
    EXPECT_EQ(Zoo()[i].name, kKnown[i].name);
    EXPECT_FALSE(Zoo()[i].source.empty());
  }
}

// The auxiliary classifiers are absent at inference, and with them what only they need.
TEST(ZooTable, GoogLeNetHasTwoClassifiersForTraining) {
  const Graph graph = Usual("googlenet").value();
  EXPECT_EQ(graph.values[graph.heads[0].value], "loss3/classifier");
  for (const int i : {1, 2}) {
    EXPECT_TRUE(graph.heads[i].training_only);
    EXPECT_EQ(graph.heads[i].weight, 0.3);
  }
  int64_t auxiliary = 0;
  for (const Parameter& p : graph.parameters) {
    if (p.name.starts_with("loss1/") || p.name.starts_with("loss2/")) {
      auxiliary += Elements(p.shape);
    }
  }
  EXPECT_EQ(ParameterCount(graph) - auxiliary, 6998552);
}

// Lines "name shape" in the order of state_dict, without running statistics.
std::string NamesAndShapes(const Graph& graph) {
  std::string text;
  for (const Parameter& p : graph.parameters) {
    absl::StrAppend(&text, p.name, " ", ToString(p.shape), "\n");
  }
  return text;
}

TEST(ZooTable, NamesAndShapesAreThoseOfTorchvision) {
  for (const char* name : {"resnet18", "resnet50", "vgg-a"}) {
    std::ifstream file(absl::StrCat(GG_TESTDATA "/", name, ".txt"));
    std::ostringstream expected;
    expected << file.rdbuf();
    ASSERT_FALSE(expected.str().empty());
    EXPECT_EQ(NamesAndShapes(Usual(name).value()), expected.str()) << name;
  }
}

// Worker and tests know these by name.
TEST(ZooTable, TheSmallNetworksKeepTheirNamesAndStart) {
  const Graph lenet = Usual("lenet").value();
  EXPECT_EQ(NamesAndShapes(lenet),
            "conv1.weight 20x1x5x5\nconv1.bias 20\nconv2.weight 50x20x5x5\nconv2.bias 50\n"
            "fc1.weight 500x800\nfc1.bias 500\nfc2.weight 10x500\nfc2.bias 10\n");
  EXPECT_EQ(lenet.parameters[4].initial.kind, Initializer::kUniform);
  EXPECT_EQ(lenet.parameters[4].initial.bound, std::sqrt(3.0f / 800));
  EXPECT_EQ(lenet.parameters[5].initial, Initializer());
}

TEST(ZooTable, TheOthersStartAsTheirSourcesSay) {
  const auto initial = [](const char* model, const char* parameter) {
    const Graph graph = Usual(model).value();
    for (const Parameter& p : graph.parameters) {
      if (p.name == parameter) return p.initial;
    }
    ADD_FAILURE() << model << " has no " << parameter;
    return Initializer();
  };
  const auto normal = [](double deviation) {
    return Initializer{Initializer::kNormal, static_cast<float>(deviation), 0};
  };
  const auto uniform = [](double bound) {
    return Initializer{Initializer::kUniform, static_cast<float>(bound), 0};
  };
  const auto constant = [](float value) { return Initializer{Initializer::kConstant, 0, value}; };
  EXPECT_EQ(initial("resnet18", "conv1.weight"), normal(std::sqrt(2.0 / (64 * 7 * 7))));
  EXPECT_EQ(initial("resnet18", "layer1.0.bn2.weight"), constant(1));
  EXPECT_EQ(initial("resnet50", "fc.weight"), uniform(1 / std::sqrt(2048.0)));
  EXPECT_EQ(initial("resnet50", "fc.bias"), uniform(1 / std::sqrt(2048.0)));
  EXPECT_EQ(initial("resnet20", "conv1.weight"), normal(std::sqrt(2.0 / (3 * 3 * 3))));
  EXPECT_EQ(initial("vgg16", "features.0.weight"), normal(std::sqrt(2.0 / (64 * 3 * 3))));
  EXPECT_EQ(initial("vgg16", "classifier.0.weight"), normal(0.01));
  EXPECT_EQ(initial("vgg16", "classifier.0.bias"), constant(0));
  EXPECT_EQ(initial("alexnet", "fc6.weight"), normal(0.005));
  EXPECT_EQ(initial("alexnet", "conv4.bias"), constant(0.1f));
  EXPECT_EQ(initial("googlenet", "inception_4b/3x3.bias"), constant(0.2f));
  EXPECT_EQ(initial("cifarnet-full", "conv1.weight"), normal(1e-4));
}

TEST(ZooTable, TheMlpHasTheWidthsAskedFor) {
  const auto mlp = [](std::vector<int64_t> hidden, double dropout) {
    return MakeZooModel("mlp", {.input = {1, 28, 28}, .hidden = hidden, .dropout = dropout});
  };
  EXPECT_EQ(ParameterCount(*mlp({512, 30}, 0)), 784 * 512 + 512 + 512 * 30 + 30 + 30 * 10 + 10);
  EXPECT_EQ(ParameterCount(*mlp({}, 0)), 784 * 10 + 10);
  EXPECT_EQ(mlp({5}, 0)->nodes.size() + 1, mlp({5}, 0.5)->nodes.size());
  EXPECT_THAT(mlp({5, 0}, 0).status().message(), HasSubstr("hidden[1] is 0"));
  EXPECT_THAT(mlp({5}, 1).status().message(), HasSubstr("drop1: dropout probability is 1"));
  EXPECT_THAT(mlp({5}, std::numeric_limits<double>::quiet_NaN()).status().message(),
              HasSubstr("dropout probability"));
  EXPECT_THAT(mlp({std::numeric_limits<int64_t>::max()}, 0).status().message(),
              HasSubstr("the number of features is"));
}

TEST(ZooTable, NetworksWithAMeanAtTheEndTakeOtherImages) {
  for (const char* name : {"resnet18", "resnet50"}) {
    for (const Shape& input : {Shape{3, 32, 32}, Shape{3, 97, 180}, Shape{1, 64, 64}}) {
      const auto graph = MakeZooModel(name, {.input = input, .classes = 10});
      EXPECT_TRUE(graph.ok()) << graph.status();
    }
  }
  EXPECT_TRUE(MakeZooModel("resnet20", {.input = {3, 33, 17}}).ok());
  EXPECT_TRUE(MakeZooModel("googlenet", {.input = {3, 128, 160}}).ok());
}

TEST(ZooTable, TooSmallImagesNameModelLayerAndSizes) {
  const auto message = [](const char* name, Shape input) {
    return std::string(MakeZooModel(name, {.input = std::move(input)}).status().message());
  };
  EXPECT_THAT(message("lenet", {1, 12, 12}),
              StartsWith("model lenet for images of 1x12x12: conv2: its input of 4x4"));
  EXPECT_THAT(message("vgg-a", {3, 31, 31}), HasSubstr("features.20: its input of 1x1"));
  EXPECT_THAT(message("alexnet", {3, 40, 40}),
              HasSubstr("pool5: its input of 2x2 is smaller than its window"));
  EXPECT_THAT(message("googlenet", {3, 64, 64}), HasSubstr("loss1/ave_pool: its input of 4x4"));
  EXPECT_THAT(message("cd-dnn", {0}), HasSubstr("model cd-dnn for an input of 0: the input is 0"));
  EXPECT_THAT(message("lenet", {28, 28}), HasSubstr("must have four dimensions"));
  EXPECT_THAT(message("lenet", {}), HasSubstr("conv1: its input is 1"));
  EXPECT_THAT(message("resnet18", {3, int64_t{1} << 40, 224}), HasSubstr("at most 2^40"));
}

TEST(ZooTable, UnknownModelsAndImpossibleClassesAreRefused) {
  EXPECT_THAT(std::string(MakeZooModel("resnet", {.input = {3, 32, 32}}).status().message()),
              StartsWith("unknown model 'resnet': known are lenet, lenet-bn, cifarnet"));
  for (const int64_t classes : {int64_t{0}, int64_t{-3}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(MakeZooModel("lenet", {.input = {1, 28, 28}, .classes = classes}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace gg::model
