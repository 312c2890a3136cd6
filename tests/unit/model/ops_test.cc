// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "model/op.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/ops/pooling.h"
#include "model/ops/reductions.h"
#include "model/ops/shape_ops.h"
#include "model/ops/tensors.h"

namespace gg::model {
namespace {

using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using OpPtr = std::shared_ptr<const Op>;
template <typename O>
OpPtr New(decltype(O::options) options) {
  return std::make_shared<const O>(options);
}
OpPtr Convolve(ConvolutionOptions options) {
  return New<Convolution>(options);
}
Window Padded(Window window, std::array<int64_t, 4> pad) {
  window.pad = pad;
  return window;
}
Window Dilated(Window window, int64_t dilation) {
  window.dilation = {dilation, dilation};
  return window;
}

// What an op answers, in a line: "2x8x3x3 weight 8x3x3x3 bias 8 buffer running_mean 3 work 5".
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

struct Mistake {
  const char* name;
  OpPtr op;
  std::vector<Shape> inputs;
  const char* words;
};
class OpMistakes : public testing::TestWithParam<Mistake> {};
void PrintTo(const Mistake& m, std::ostream* out) {
  *out << m.name;
}

TEST_P(OpMistakes, SayWhichDimensionAndWhatWouldDo) {
  const auto status = GetParam().op->Describe(GetParam().inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    , OpMistakes,
    testing::Values(
        Mistake{"NoInput", Convolve({.out_channels = 8}), {}, "takes 1 input, got 0"},
        Mistake{"ConvolutionOfRows",
                Convolve({.out_channels = 8}),
                {{2, 3}},
                "must have four dimensions: batch, channels, height, width"},
        Mistake{"NoFilters",
                Convolve({.out_channels = 0}),
                {{1, 3, 4, 4}},
                "the number of filters is 0"},
        Mistake{"GroupsDoNotDivide",
                Convolve({.out_channels = 8, .groups = 3}),
                {{1, 3, 4, 4}},
                "use a common divisor"},
        Mistake{"NegativeGroups",
                Convolve({.out_channels = 8, .groups = -1}),
                {{1, 3, 4, 4}},
                "the number of groups is -1"},
        Mistake{"ConvolutionOverTheEdge",
                Convolve({.out_channels = 8, .window = {.ceil_mode = true}}),
                {{1, 3, 4, 4}},
                "pad instead"},
        Mistake{"EmptyImage",
                Convolve({.out_channels = 8}),
                {{1, 3, 0, 4}},
                "dimension 2 is 0, must be at least 1"},
        Mistake{"HugeWeight",
                Convolve({.out_channels = int64_t{1} << 30, .window = Square(1)}),
                {{1, int64_t{1} << 30, 1, 1}},
                "its weight is 1073741824x1073741824x1x1"},
        Mistake{"HugeOutput",
                Convolve({.out_channels = int64_t{1} << 40, .window = Square(1)}),
                {{1, 1, 2, 2}},
                "its output is 1x1099511627776x2x2"},
        Mistake{"HugePadding",
                Convolve({.out_channels = 1,
                          .window = Padded(Square(1), {1 << 30, 1 << 30, 1 << 30, 1 << 30})}),
                {{1, 1, 1, 1}},
                "a tensor has at most 2^40 elements"},
        Mistake{"LinearOfOne", New<Linear>({.out_features = 1}), {{3}}, "at least two dimensions"},
        Mistake{"LinearWithout",
                New<Linear>({.out_features = -5}),
                {{3, 4}},
                "the number of features is -5"},
        Mistake{"PoolPadding",
                New<Pool>({.window = Square(2, 2, 2)}),
                {{1, 1, 4, 4}},
                "a padding of 2 leaves windows of 2 outside the image: use at most 1"},
        Mistake{"PoolHoles",
                New<Pool>({.window = Dilated(Square(2, 1, 1), 2)}),
                {{1, 1, 1, 1}},
                "a dilation of 2 steps over an image of 1"},
        Mistake{"BatchNormEpsilon", New<BatchNorm>({.epsilon = 0}), {{2, 3}}, "epsilon is 0"},
        Mistake{
            "BatchNormMomentum", New<BatchNorm>({.momentum = kNaN}), {{2, 3}}, "momentum is nan"},
        Mistake{"BatchNormOfOne", New<BatchNorm>({}), {{2}}, "at least two dimensions"},
        Mistake{
            "LayerNormOfTheBatch", New<LayerNorm>({.dimensions = 2}), {{2, 3}}, "leave the batch"},
        Mistake{"LrnOfNone", New<Lrn>({.size = 0}), {{2, 3}}, "the number of channels is 0"},
        Mistake{"LrnBias", New<Lrn>({.bias = 0}), {{2, 3}}, "bias is 0"},
        Mistake{"LrnAlpha", New<Lrn>({.alpha = -1}), {{2, 3}}, "alpha is -1"},
        Mistake{"UnaryNumber",
                New<Unary>({.kind = UnaryOptions::kAffine, .a = kInfinity}),
                {{2, 3}},
                "its numbers must be finite"},
        Mistake{"ClipTheWrongWay",
                New<Unary>({.kind = UnaryOptions::kClip, .a = 1, .b = 0}),
                {{2, 3}},
                "the lower end must not be above"},
        Mistake{"BinaryOfOne", New<Binary>({}), {{2, 3}}, "takes 2 inputs, got 1"},
        Mistake{"NoBroadcast", New<Binary>({}), {{2, 3}, {2, 4}}, "differ in dimension 1"},
        Mistake{"HugeBroadcast",
                New<Binary>({}),
                {{int64_t{1} << 30, 1}, {1, int64_t{1} << 30}},
                "at most 2^40 elements"},
        Mistake{"DropoutOfAll",
                New<Dropout>({.probability = 1}),
                {{2, 3}},
                "must be at least 0 and below 1"},
        Mistake{"DropoutNaN",
                New<Dropout>({.probability = kNaN}),
                {{2, 3}},
                "dropout probability is nan"},
        Mistake{"SoftmaxOfTheBatch", New<Softmax>({.axis = -2}), {{2, 3}}, "is the batch"},
        Mistake{"SoftmaxAxis", New<Softmax>({.axis = 2}), {{2, 3}}, "2x3 has -2 to 1"},
        Mistake{"SoftmaxOfAScalar", New<Softmax>({}), {{}}, "axis -1 of an input of 0 dimensions"},
        Mistake{"ReduceNothing", New<Reduce>({}), {{2, 3}}, "name at least one"},
        Mistake{"ReduceBatch", New<Reduce>({.axes = {0}}), {{2, 3}}, "is the batch, which stays"},
        Mistake{"ReduceTwice", New<Reduce>({.axes = {1, -1}}), {{2, 3}}, "axis -1 is named twice"},
        Mistake{"ReshapeOther",
                New<Reshape>({.shape = {0, 5}}),
                {{2, 3}},
                "its input is 2x3, 6 elements, 2x5 holds 10"},
        Mistake{
            "ReshapeRest", New<Reshape>({.shape = {4, -1}}), {{2, 3}}, "do not divide by the 4"},
        Mistake{"ReshapeTwoRests", New<Reshape>({.shape = {-1, -1}}), {{2, 3}}, "name one"},
        Mistake{"ReshapeNegative",
                New<Reshape>({.shape = {0, -2}}),
                {{2, 3}},
                "dimension 1 is -2, must be at least -1"},
        Mistake{"ReshapeBeyond",
                New<Reshape>({.shape = {0, 0, 0}}),
                {{2, 3}},
                "dimension 2 is as the input's (0)"},
        Mistake{"ReshapeHuge",
                New<Reshape>({.shape = {int64_t{1} << 40, int64_t{1} << 40, -1}}),
                {{2, 3}},
                "do not divide"},
        Mistake{"FlattenAxis", New<Flatten>({.axis = 3}), {{2, 3}}, "2x3 has 0 to 2"},
        Mistake{"TransposeTwice",
                New<Transpose>({.permutation = {0, 0}}),
                {{2, 3}},
                "must name each of 0 to 1 once"},
        Mistake{
            "TransposeFew", New<Transpose>({.permutation = {0}}), {{2, 3}}, "needs one for each"},
        Mistake{"TransposeNegative",
                New<Transpose>({.permutation = {0, -1}}),
                {{2, 3}},
                "must name each"},
        Mistake{"ConcatNone", New<Concat>({}), {}, "takes at least one input"},
        Mistake{"ConcatDiffer",
                New<Concat>({}),
                {{2, 3, 4}, {2, 3, 5}},
                "all dimensions but 1 must be equal"},
        Mistake{"ConcatHuge",
                New<Concat>({}),
                {{1, int64_t{1} << 40}, {1, int64_t{1} << 40}},
                "at most 2^40"},
        Mistake{"SliceEmpty", New<Slice>({.begin = 2, .end = 2}), {{2, 3}}, "needs 0 <= begin"},
        Mistake{"SliceBeyond", New<Slice>({.begin = 0, .end = 4}), {{2, 3}}, "which has 3"},
        Mistake{"SliceStep", New<Slice>({.end = 3, .step = 0}), {{2, 3}}, "step is 0"},
        Mistake{"PadFew",
                New<Pad>({.before = {0}, .after = {0, 0}}),
                {{2, 3}},
                "has 1 paddings before"},
        Mistake{"PadNegative",
                New<Pad>({.before = {0, -1}, .after = {0, 0}}),
                {{2, 3}},
                "padding of dimension 1 is -1"},
        Mistake{"PadHuge",
                New<Pad>({.before = {0, std::numeric_limits<int64_t>::max()}, .after = {0, 1}}),
                {{2, 3}},
                "at most 2^40"},
        Mistake{
            "ExpandThree", New<Expand>({.shape = {0, 5}}), {{2, 3}}, "only a dimension of 1 can"},
        Mistake{"ExpandNegative", New<Expand>({.shape = {0, -5}}), {{2, 1}}, "must be at least 1"},
        Mistake{"MatMulOfVectors", New<MatMul>({}), {{3}, {3}}, "at least two dimensions each"},
        Mistake{"MatMulTerms", New<MatMul>({}), {{2, 3}, {4, 5}}, "the last but one of the second"},
        Mistake{"MatMulBatches", New<MatMul>({}), {{2, 3, 4}, {5, 4, 6}}, "differ in dimension 0"},
        Mistake{"EmbeddingOfNone",
                New<Embedding>({.count = 0, .width = 3}),
                {{2}},
                "the number of rows is 0"},
        Mistake{"ParameterWithInput",
                New<ParameterValue>({.shape = {1}, .initial = {}}),
                {{2}},
                "takes 0 inputs, got 1"},
        Mistake{"ParameterShape",
                New<ParameterValue>({.shape = {-1}, .initial = {}}),
                {},
                "its shape is -1: dimension 0 is -1"},
        Mistake{"ConstantCount",
                New<Constant>({.shape = {2, 2}, .values = {1}}),
                {},
                "has 1 values, 2x2 holds 4"}),
    [](const auto& tested) { return tested.param.name; });

// Whatever stands in the attributes and shapes, an op answers or refuses; its outputs are possible.
TEST(Ops, AbsurdNumbersAreRefusedOrAnswered) {
  const int64_t numbers[] = {
      std::numeric_limits<int64_t>::min(), -1, 0, 1, 2, int64_t{1} << 20, int64_t{1} << 40,
      std::numeric_limits<int64_t>::max()};
  for (const int64_t a : numbers) {
    for (const int64_t b : numbers) {
      for (const int64_t c : numbers) {
        Window window = Square(a, b, c);
        window.dilation = {c, a};
        window.ceil_mode = true;
        Window floor = window;
        floor.ceil_mode = false;
        const std::vector<std::pair<OpPtr, std::vector<Shape>>> cases = {
            {Convolve({.out_channels = a, .window = Square(b, 1, c)}), {{1, 4, 16, 16}}},
            {Convolve({.out_channels = a, .window = floor, .groups = b}), {{1, 4, 16, 16}}},
            {Convolve({.out_channels = 4}), {{1, a, b, c}}},
            {New<Pool>({.window = window}), {{1, 4, 16, 16}}},
            {New<Pool>({.window = Square(2, 2)}), {{a, 1, b, c}}},
            {New<Linear>({.out_features = a}), {{b, c}}},
            {New<LayerNorm>({.dimensions = a}), {{2, b, c}}},
            {New<Reduce>({.axes = {a, b}}), {{2, 3, c}}},
            {New<Reshape>({.shape = {a, b, c}}), {{2, 4}}},
            {New<Flatten>({.axis = a}), {{b, c}}},
            {New<Transpose>({.permutation = {a, b}}), {{2, c}}},
            {New<Concat>({.axis = a}), {{2, b}, {2, c}}},
            {New<Slice>({.axis = 1, .begin = a, .end = b, .step = c}), {{2, 8}}},
            {New<Pad>({.before = {0, a}, .after = {b, 0}}), {{2, c}}},
            {New<Expand>({.shape = {a, b}}), {{1, c}}},
            {New<MatMul>({}), {{a, b}, {b, c}}},
            {New<Embedding>({.count = a, .width = b}), {{2, c}}},
            {New<Softmax>({.axis = a}), {{b, c}}},
        };
        for (const auto& [op, inputs] : cases) {
          const auto desc = op->Describe(inputs);
          if (!desc.ok()) {
            ASSERT_EQ(desc.status().code(), absl::StatusCode::kInvalidArgument);
            ASSERT_FALSE(desc.status().message().empty());
            continue;
          }
          ASSERT_GE(desc->multiply_adds, 0) << op->kind();
          for (const Shape& out : desc->outputs) {
            ASSERT_TRUE(CheckShape(out, "").ok()) << op->kind() << " " << ToString(out);
          }
        }
      }
    }
  }
}

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
