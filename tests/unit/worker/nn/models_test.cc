// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/spec/validate.h"
#include "gmock/gmock.h"
#include "tests/unit/worker/nn/fixture.h"

namespace gg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ModelsTest : public NetworkTest {
 protected:
  void ExpectRefused(const NetworkOptions& options, absl::string_view words) {
    const auto status = MakeNetwork(*device_, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
};

NetworkOptions Options(const char* model, InputShape input) {
  NetworkOptions options;
  options.model.name = model;
  options.input = input;
  options.batch_size = 2;
  return options;
}

TEST_F(ModelsTest, LeNetIsCaffes) {
  auto net = Make(Options("lenet", {1, 28, 28}));
  EXPECT_EQ(net->arena().parameter_count(), 431080u);
  std::vector<std::string> names;
  for (int b = 0; b < net->arena().block_count(); ++b) names.push_back(net->arena().block(b).name);
  EXPECT_THAT(names, ElementsAre("fc2", "fc1", "conv2", "conv1"));
  EXPECT_THAT(net->arena().block(2).tensors[0].shape, ElementsAre(50, 20, 5, 5));
  EXPECT_EQ(net->arena().block(2).tensors[0].name, "conv2.weight");
}

TEST_F(ModelsTest, LeNetBnKeepsTheBlocksOfLeNet) {
  auto net = Make(Options("lenet-bn", {1, 28, 28}));
  ParamArena& arena = net->arena();
  EXPECT_EQ(arena.parameter_count(), 431080u - 20 - 50 - 500 + 2 * (20 + 50 + 500));
  EXPECT_EQ(arena.buffers().size(), 2u * (20 + 50 + 500));
  std::vector<std::string> blocks, tensors;
  for (int b = 0; b < arena.block_count(); ++b) {
    blocks.push_back(arena.block(b).name);
    for (const TensorInfo& t : arena.block(b).tensors) tensors.push_back(t.name);
  }
  EXPECT_THAT(blocks, ElementsAre("fc2", "fc1", "conv2", "conv1"));
  EXPECT_THAT(tensors, ElementsAre("fc2.weight", "fc2.bias", "bn3.gamma", "bn3.beta", "fc1.weight",
                                   "bn2.gamma", "bn2.beta", "conv2.weight", "bn1.gamma", "bn1.beta",
                                   "conv1.weight"));
}

TEST_F(ModelsTest, BatchNormStartsAsTheIdentity) {
  auto net = Make(Options("lenet-bn", {1, 28, 28}));
  ParamArena& arena = net->arena();
  const auto& tensors = arena.block(1).tensors;  // bn3 and fc1
  for (const float gamma : arena.weights(tensors[0])) EXPECT_EQ(gamma, 1.0f);
  for (const float beta : arena.weights(tensors[1])) EXPECT_EQ(beta, 0.0f);
  const Flat bn3 = arena.buffers().subspan(2 * (20 + 50));
  for (const float mean : bn3.subspan(0, 500)) EXPECT_EQ(mean, 0.0f);
  for (const float variance : bn3.subspan(500)) EXPECT_EQ(variance, 1.0f);
}

TEST_F(ModelsTest, BatchNormRefusesABatchWithoutVariance) {
  auto options = Options("lenet-bn", {1, 28, 28});
  options.batch_size = 1;
  ExpectRefused(options, "bn3: batch normalisation of one value per channel");
}

TEST_F(ModelsTest, CifarNetIsCaffesQuick) {
  EXPECT_EQ(Make(Options("cifarnet", {3, 32, 32}))->arena().parameter_count(), 145578u);
}

TEST_F(ModelsTest, MlpHasTheWidthsAskedFor) {
  auto options = Options("mlp", {1, 28, 28});
  options.model.hidden = {512, 30};
  EXPECT_EQ(Make(options)->arena().parameter_count(),
            784u * 512 + 512 + 512 * 30 + 30 + 30 * 10 + 10);
  options.model.hidden = {};
  EXPECT_EQ(Make(options)->arena().parameter_count(), 784u * 10 + 10);
}

TEST_F(ModelsTest, InitialWeightsAreXavierAndFillTheirBound) {
  auto net = Make(Options("lenet", {1, 28, 28}));
  const TensorInfo& weight = net->arena().block(1).tensors[0];  // fc1: 500 x 800
  const float bound = std::sqrt(3.0f / 800);
  double sum = 0, squares = 0;
  float largest = 0;
  for (const float w : net->arena().weights(weight)) {
    sum += w;
    squares += w * w;
    largest = std::max(largest, std::abs(w));
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.99f * bound);
  EXPECT_NEAR(sum / weight.count, 0, 0.01 * bound);
  EXPECT_NEAR(squares / weight.count, bound * bound / 3, 0.02 * bound * bound);
  for (const float b : net->arena().weights(net->arena().block(1).tensors[1])) EXPECT_EQ(b, 0.0f);
}

TEST_F(ModelsTest, InitialWeightsDependOnTheSeedAndNotOnTheRank) {
  NetworkOptions options = SmallMlp();
  const auto first = Copy(Make(options)->arena().weights());
  options.rank = 5;
  EXPECT_EQ(Copy(Make(options)->arena().weights()), first);
  options.seed = 12;
  EXPECT_NE(Copy(Make(options)->arena().weights()), first);
}

TEST_F(ModelsTest, TooSmallImagesNameTheLayerAndTheSizes) {
  ExpectRefused(Options("lenet", {1, 12, 12}),
                "model lenet for images of 1x12x12: conv2: its input of 4x4");
  ExpectRefused(Options("lenet", {1, 4, 28}), "conv1: its input of 4x28");
  ExpectRefused(Options("cifarnet", {3, 4, 4}),
                "its input of 2x2 is smaller than its window of 3x3");
  ExpectRefused(Options("mlp", {1, 0, 4}), "must be positive");
}

TEST_F(ModelsTest, SmallestPossibleImagesWork) {
  Make(Options("lenet", {1, 16, 16}));
  Make(Options("lenet-bn", {1, 16, 16}));
  Make(Options("cifarnet", {3, 12, 12}));
  Make(Options("mlp", {1, 1, 1}));
}

TEST_F(ModelsTest, TheLeastBatchOfAModelIsOneThatItsNetworkTakes) {
  for (const absl::string_view name : ModelNames()) {
    NetworkOptions options = Options(std::string(name).c_str(), {1, 28, 28});
    options.batch_size = LeastBatch(options.model);
    Make(options);
    --options.batch_size;
    EXPECT_FALSE(MakeNetwork(*device_, options).ok()) << name;
  }
}

TEST_F(ModelsTest, UnknownModelListsTheKnownOnes) {
  ExpectRefused(Options("resnet", {3, 32, 32}),
                "unknown model 'resnet': known are lenet, lenet-bn, cifarnet, mlp");
  EXPECT_THAT(ModelNames(), ElementsAre("lenet", "lenet-bn", "cifarnet", "mlp"));
}

TEST_F(ModelsTest, ImpossibleOptionsAreRefused) {
  auto options = SmallMlp();
  options.model.hidden = {5, 0};
  ExpectRefused(options, "hidden[1] is 0");
  for (const double p : {1.0, -0.1, std::numeric_limits<double>::quiet_NaN()}) {
    options = SmallMlp();
    options.model.dropout = p;
    ExpectRefused(options, "dropout probability");
  }
  options = SmallMlp();
  options.batch_size = 0;
  ExpectRefused(options, "batch_size");
  options = SmallMlp();
  options.classes = 0;
  ExpectRefused(options, "classes");
}

}  // namespace
}  // namespace gg
