// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/unit/model/ops_fixture.h"

namespace gg::model {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace gg::model
