// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/unit/model/ops_fixture.h"

namespace gg::model {
namespace {

using testing::HasSubstr;

// What an op answers, in a line: "2x8x3x3 weight 8x3x3x3 bias 8 running_mean 3 work 5".
std::string Answer(const OpDesc& desc) {
  std::string text;
  for (const Shape& out : desc.outputs) absl::StrAppend(&text, " ", ToString(out));
  for (const ParameterDesc& p : desc.parameters) {
    absl::StrAppend(&text, " ", p.name, " ", ToString(p.shape));
  }
  for (const BufferDesc& b : desc.buffers) {
    absl::StrAppend(&text, " ", b.name, " ", ToString(b.shape));
  }
  if (desc.multiply_adds != 0) absl::StrAppend(&text, " work ", desc.multiply_adds);
  return text.substr(1);
}

struct Case {
  const char* name;
  OpPtr op;
  std::vector<Shape> inputs;
  const char* answer;
  const char* text;
};
class OpAnswers : public testing::TestWithParam<Case> {};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

TEST_P(OpAnswers, ShapesParametersWorkAndText) {
  const auto desc = GetParam().op->Describe(GetParam().inputs);
  ASSERT_TRUE(desc.ok()) << desc.status();
  EXPECT_EQ(Answer(*desc), GetParam().answer);
  EXPECT_EQ(GetParam().op->Text(), GetParam().text);
  EXPECT_FALSE(GetParam().op->kind().empty());
}

INSTANTIATE_TEST_SUITE_P(
    , OpAnswers,
    testing::Values(
        Case{"Convolution",
             Convolve({.out_channels = 8, .window = Square(3, 2, 1)}),
             {{2, 3, 32, 32}},
             "2x8x16x16 weight 8x3x3x3 bias 8 work 110592",
             "8 filters of 3x3, stride 2, pad 1"},
        Case{"Groups",
             Convolve({.out_channels = 8, .window = Square(1), .groups = 4, .bias = false}),
             {{1, 12, 5, 5}},
             "1x8x5x5 weight 8x3x1x1 work 600",
             "8 filters of 1x1, 4 groups, no bias"},
        Case{"Depthwise",
             Convolve({.out_channels = 6, .window = Square(3), .groups = 6}),
             {{1, 6, 3, 3}},
             "1x6x1x1 weight 6x1x3x3 bias 6 work 54",
             "6 filters of 3x3, 6 groups"},
        Case{"Lopsided",
             Convolve({.out_channels = 1, .window = Padded(Square(3, 2), {0, 0, 1, 1})}),
             {{1, 1, 4, 4}},
             "1x1x2x2 weight 1x1x3x3 bias 1 work 36",
             "1 filter of 3x3, stride 2, pad top 0 left 0 bottom 1 right 1"},
        Case{"Linear",
             New<Linear>({.out_features = 10}),
             {{4, 20}},
             "4x10 weight 10x20 bias 10 work 800",
             "10 features"},
        Case{"LinearOfRows",
             New<Linear>({.out_features = 10, .bias = false}),
             {{4, 7, 20}},
             "4x7x10 weight 10x20 work 5600",
             "10 features, no bias"},
        Case{"MaxPool",
             New<Pool>({.window = Square(2, 2)}),
             {{2, 3, 5, 5}},
             "2x3x2x2",
             "maximum of 2x2, stride 2"},
        Case{"MeanPool",
             New<Pool>({.kind = PoolOptions::kAverage,
                        .window = Square(3, 1, 1),
                        .count_include_pad = true}),
             {{2, 3, 5, 5}},
             "2x3x5x5",
             "mean of 3x3, pad 1, padding counts"},
        Case{"GlobalPool",
             New<Pool>({.kind = PoolOptions::kAverage, .global = true}),
             {{2, 3, 5, 9}},
             "2x3x1x1",
             "mean of the image"},
        Case{"BatchNorm",
             New<BatchNorm>({}),
             {{2, 3, 5, 5}},
             "2x3x5x5 weight 3 bias 3 running_mean 3 running_var 3",
             "epsilon 1e-05, momentum 0.1"},
        Case{"LayerNorm",
             New<LayerNorm>({.dimensions = 2}),
             {{2, 3, 4}},
             "2x3x4 weight 3x4 bias 3x4",
             "over the last 2 dimensions, epsilon 1e-05"},
        Case{"LayerNormPlain",
             New<LayerNorm>({.affine = false}),
             {{2, 3, 4}},
             "2x3x4",
             "over the last dimension, epsilon 1e-05, no parameters"},
        Case{"Lrn",
             New<Lrn>({}),
             {{2, 3, 4, 4}},
             "2x3x4x4",
             "over 5 channels, alpha 0.0001, beta 0.75"},
        Case{"Relu", New<Unary>({}), {{2, 3}}, "2x3", "relu"},
        Case{"Clip",
             New<Unary>({.kind = UnaryOptions::kClip, .a = 0, .b = 6}),
             {{2, 3}},
             "2x3",
             "clip 0 6"},
        Case{"ClipBelow",
             New<Unary>({.kind = UnaryOptions::kClip, .a = 0, .b = kInfinity}),
             {{2, 3}},
             "2x3",
             "clip 0 inf"},
        Case{"Add", New<Binary>({}), {{2, 3, 4}, {2, 3, 4}}, "2x3x4", "add"},
        Case{"Broadcast",
             New<Binary>({.kind = BinaryOptions::kMultiply}),
             {{2, 1, 4}, {3, 1}},
             "2x3x4",
             "multiply"},
        Case{
            "Scalar", New<Binary>({.kind = BinaryOptions::kDivide}), {{2, 3}, {}}, "2x3", "divide"},
        Case{"Dropout", New<Dropout>({.probability = 0.25}), {{2, 3}}, "2x3", "probability 0.25"},
        Case{"Softmax", New<Softmax>({}), {{2, 3}}, "2x3", "axis -1"},
        Case{"Mean",
             New<Reduce>({.axes = {2, -1}}),
             {{2, 3, 4, 5}},
             "2x3x1x1",
             "mean over axes 2,-1"},
        Case{"Sum",
             New<Reduce>({.kind = ReduceOptions::kSum, .axes = {1}, .keep = false}),
             {{2, 3, 4}},
             "2x4",
             "sum over axes 1, dropped"},
        Case{"Reshape", New<Reshape>({.shape = {0, -1, 2}}), {{2, 3, 4}}, "2x6x2", "to 0x-1x2"},
        Case{"Flatten", New<Flatten>({}), {{2, 3, 4, 5}}, "2x60", ""},
        Case{"FlattenOfRows", New<Flatten>({}), {{2, 3}}, "2x3", ""},
        Case{"FlattenFrom2", New<Flatten>({.axis = 2}), {{2, 3, 4, 5}}, "6x20", "from axis 2"},
        Case{
            "Transpose", New<Transpose>({.permutation = {0, 2, 1}}), {{2, 3, 4}}, "2x4x3", "0,2,1"},
        Case{"Concat", New<Concat>({}), {{2, 3, 4}, {2, 5, 4}, {2, 1, 4}}, "2x9x4", ""},
        Case{"Slice",
             New<Slice>({.axis = 2, .begin = 1, .end = 4, .step = 2}),
             {{2, 3, 5}},
             "2x3x2",
             "axis 2, 1 to 4, every 2"},
        Case{"Pad",
             New<Pad>({.before = {0, 1}, .after = {0, 2}}),
             {{2, 3}},
             "2x6",
             "before 0,1, after 0,2"},
        Case{"Expand", New<Expand>({.shape = {0, 5, 0}}), {{2, 1, 3}}, "2x5x3", "to 0x5x0"},
        Case{"MatMul", New<MatMul>({}), {{2, 5, 3, 4}, {2, 5, 4, 6}}, "2x5x3x6 work 720", "a b"},
        Case{"MatMulTransposed",
             New<MatMul>({.transpose_a = true, .transpose_b = true}),
             {{2, 4, 3}, {6, 4}},
             "2x3x6 work 144",
             "a^T b^T"},
        Case{"Embedding",
             New<Embedding>({.count = 100, .width = 8}),
             {{2, 7}},
             "2x7x8 weight 100x8",
             "100 rows of 8"},
        Case{"ParameterValue",
             New<ParameterValue>({.shape = {1, 5, 8}, .initial = {}}),
             {},
             "1x5x8 value 1x5x8",
             "1x5x8"},
        Case{"Constant",
             New<Constant>({.shape = {2, 2}, .values = {1, 2, 3, 4}}),
             {},
             "2x2",
             "2x2"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Ops, InitialValues) {
  const auto convolution = Convolution({.out_channels = 8, .window = Square(5)});
  const auto desc = convolution.Describe({{1, 20, 12, 12}}).value();
  EXPECT_EQ(desc.parameters[0].initial.kind, Initializer::kUniform);
  EXPECT_EQ(desc.parameters[0].initial.bound, std::sqrt(3.0f / 500));
  EXPECT_EQ(desc.parameters[1].initial, Initializer());
  const auto norm = BatchNorm({.weight_initial = 0}).Describe({{2, 3}}).value();
  EXPECT_EQ(norm.parameters[0].initial, Initializer());
  EXPECT_EQ(norm.buffers[1].initial, 1);
}

TEST(Shapes, ElementsStayWithinTheirNumbers) {
  EXPECT_EQ(Elements({}), 1);
  EXPECT_EQ(Elements({2, 3, 4}), 24);
  EXPECT_EQ(Elements({int64_t{1} << 40, int64_t{1} << 40}), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ToString(Shape{64, 3, 32, 32}), "64x3x32x32");
  EXPECT_EQ(ToString(Shape{}), "scalar");
  EXPECT_TRUE(CheckShape({1024, 1 << 30}, "it").ok());
  EXPECT_THAT(CheckShape({1025, 1 << 30}, "it").message(), HasSubstr("it is 1025x1073741824"));
}

}  // namespace
}  // namespace gg::model
