// SPDX-License-Identifier: Apache-2.0
// `ggctl model inspect` and `ggctl model list`. No coordinator is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ggctl/cli.h"
#include "model/zoo/zoo.h"
#include "tests/unit/ggctl/golden.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

struct Result {
  int code;
  std::string out, err;
};

Result Model(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "model");
  std::ostringstream out, err;
  const int code = RunGgctl(arguments, out, err);
  return {code, out.str(), err.str()};
}

std::string Golden(std::vector<std::string> arguments) {
  const Result result = Model(std::move(arguments));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result.out;
}

nlohmann::json Json(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-o", "json"});
  return nlohmann::json::parse(Golden(std::move(arguments)));
}

TEST(ModelInspect, TheTableIsStable) {
  ExpectGolden(GG_TESTDATA "/model-lenet-bn.txt", Golden({"inspect", "zoo:lenet-bn"}));
  ExpectGolden(GG_TESTDATA "/model-googlenet.txt",
               Golden({"inspect", "zoo:googlenet", "--batch", "32"}));
}

TEST(ModelInspect, DocumentsAreStable) {
  ExpectGolden(GG_TESTDATA "/model-lenet.json", Golden({"inspect", "zoo:lenet", "-o", "json"}));
  ExpectGolden(GG_TESTDATA "/model-mlp.yaml",
               Golden({"inspect", "zoo:mlp", "--input", "3x8x8", "--classes", "7", "-o", "yaml"}));
}

TEST(ModelInspect, TotalsAreTheSumsOfTheLayers) {
  for (const model::ZooEntry& entry : model::Zoo()) {
    const auto json = Json({"inspect", "zoo:" + std::string(entry.name)});
    int64_t parameters = 0, multiply_adds = 0, of_blocks = 0, arena = 0;
    std::set<std::string> blocks, used;
    for (const auto& layer : json["layers"]) {
      parameters += layer["parameters"].get<int64_t>();
      multiply_adds += layer["multiply_adds"].get<int64_t>();
      EXPECT_EQ(layer["block"].is_null(), layer["parameters"] == 0);
      if (layer["block"].is_string()) used.insert(layer["block"]);
    }
    for (const auto& block : json["blocks"]) {
      const auto count = block["parameters"].get<int64_t>();
      of_blocks += count;
      arena += (count + 15) / 16 * 64;
      blocks.insert(block["name"]);
    }
    EXPECT_EQ(json["parameters"], parameters) << entry.name;
    EXPECT_EQ(of_blocks, parameters) << entry.name;
    EXPECT_EQ(json["multiply_adds"], multiply_adds) << entry.name;
    EXPECT_EQ(json["arena_bytes"], arena) << entry.name;
    EXPECT_EQ(blocks, used) << entry.name;
  }
}

// Work and memory are per sample, whatever the batch is.
TEST(ModelInspect, OnlyTheShapesFollowTheBatch) {
  const auto one = Json({"inspect", "zoo:lenet"});
  auto many = Json({"inspect", "zoo:lenet", "--batch", "64"});
  EXPECT_EQ(many["layers"][0]["output"], (std::vector<int>{64, 20, 24, 24}));
  EXPECT_EQ(one["activation_bytes"], 4 * (784 + 11520 + 2880 + 3200 + 800 + 800 + 500 + 500 + 10));
  for (const char* key : {"parameters", "multiply_adds", "activation_bytes", "arena_bytes"}) {
    EXPECT_EQ(one[key], many[key]) << key;
  }
}

TEST(ModelList, TheTableIsStable) {
  ExpectGolden(GG_TESTDATA "/model-list.txt", Golden({"list"}));
}

TEST(ModelList, TheDocumentHasEveryNetwork) {
  const auto json = Json({"list"});
  EXPECT_EQ(json["kind"], "ModelList");
  ASSERT_EQ(json["items"].size(), model::Zoo().size());
  for (size_t i = 0; i < model::Zoo().size(); ++i) {
    EXPECT_EQ(json["items"][i]["model"], std::string(model::Zoo()[i].name));
    EXPECT_GT(json["items"][i]["parameters"], 0);
  }
}

struct Mistake {
  std::vector<std::string> arguments;
  const char* message;
};
class ModelMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(ModelMistake, EndsWithTwoAndSaysWhy) {
  const Result result = Model(GetParam().arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    , ModelMistake,
    ::testing::Values(
        Mistake{{"inspect"}, "model is required"},
        Mistake{{"inspect", "lenet"}, "did you mean \"zoo:lenet\"?"},
        Mistake{{"inspect", "./net.onnx"}, "only zoo:NAME can be inspected, got \"./net.onnx\""},
        Mistake{{"inspect", "zoo:resnet-18"}, "did you mean \"zoo:resnet18\"?"},
        Mistake{{"inspect", "zoo:transformer"}, "known: zoo:lenet, zoo:lenet-bn"},
        Mistake{{"inspect", "zoo:"}, "no model \"zoo:\""},
        Mistake{{"inspect", "zoo:lenet", "--input", "28"}, "must have four dimensions"},
        Mistake{{"inspect", "zoo:lenet", "--input", "1x12x12"},
                "model lenet for images of 1x12x12: conv2: its input of 4x4"},
        Mistake{{"inspect", "zoo:lenet", "--input", "1x-2x8"}, "such as 3x224x224"},
        Mistake{{"inspect", "zoo:lenet", "--input", "1xx8"}, "such as 3x224x224"},
        Mistake{{"inspect", "zoo:lenet", "--input", "1x0x8"}, "such as 3x224x224"},
        Mistake{{"inspect", "zoo:lenet", "--input", "1x99999999999999999999x8"},
                "such as 3x224x224"},
        Mistake{{"inspect", "zoo:lenet", "--input", "1x4000000000x4000000000"}, "at most 2^40"},
        Mistake{{"inspect", "zoo:resnet50", "--batch", "16777216"}, "at most 2^40"},
        Mistake{{"inspect", "zoo:lenet", "--batch", "0"}, "--batch"},
        Mistake{{"inspect", "zoo:lenet", "--classes", "-1"}, "--classes"},
        Mistake{{"inspect", "zoo:lenet", "-o", "dot"}, "dot not in {table,json,yaml}"},
        Mistake{{"list", "-o", "svg"}, "svg not in {table,json,yaml}"}));

}  // namespace
}  // namespace gg
