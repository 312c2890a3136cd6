// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tests/conformance/device/devices.h"
#include "tests/conformance/device/oracle.h"

namespace gg {
namespace {

// fp32 sums of up to some thousand products of values below 1, against double.
constexpr double kTolerance = 2e-5;

struct Case {
  const char* name;
  Conv2dDesc desc;
};

const Case kCases[] = {
    {"LeNetFirst",
     {.batch = 3,
      .in_channels = 1,
      .in_height = 28,
      .in_width = 28,
      .out_channels = 20,
      .kernel_height = 5,
      .kernel_width = 5}},
    {"LeNetSecond",
     {.batch = 2,
      .in_channels = 20,
      .in_height = 12,
      .in_width = 12,
      .out_channels = 50,
      .kernel_height = 5,
      .kernel_width = 5}},
    {"CifarPadded",
     {.batch = 2,
      .in_channels = 3,
      .in_height = 32,
      .in_width = 32,
      .out_channels = 32,
      .kernel_height = 5,
      .kernel_width = 5,
      .pad_height = 2,
      .pad_width = 2}},
    {"OnePixel",
     {.batch = 1,
      .in_channels = 1,
      .in_height = 1,
      .in_width = 1,
      .out_channels = 1,
      .kernel_height = 1,
      .kernel_width = 1}},
    {"OnePixelManyChannels",
     {.batch = 5,
      .in_channels = 17,
      .in_height = 1,
      .in_width = 1,
      .out_channels = 33,
      .kernel_height = 1,
      .kernel_width = 1}},
    {"KernelIsImage",
     {.batch = 4,
      .in_channels = 2,
      .in_height = 6,
      .in_width = 5,
      .out_channels = 7,
      .kernel_height = 6,
      .kernel_width = 5}},
    {"Stride2OddSize",
     {.batch = 2,
      .in_channels = 3,
      .in_height = 11,
      .in_width = 9,
      .out_channels = 5,
      .kernel_height = 3,
      .kernel_width = 3,
      .stride_height = 2,
      .stride_width = 2,
      .pad_height = 1,
      .pad_width = 1}},
    {"UnequalEverything",
     {.batch = 2,
      .in_channels = 4,
      .in_height = 13,
      .in_width = 7,
      .out_channels = 6,
      .kernel_height = 4,
      .kernel_width = 2,
      .stride_height = 3,
      .stride_width = 2,
      .pad_height = 2,
      .pad_width = 1}},
    {"StrideLeavesRest",
     {.batch = 1,
      .in_channels = 2,
      .in_height = 10,
      .in_width = 10,
      .out_channels = 3,
      .kernel_height = 3,
      .kernel_width = 3,
      .stride_height = 4,
      .stride_width = 4}},
    {"StrideOverKernel",
     {.batch = 2,
      .in_channels = 2,
      .in_height = 9,
      .in_width = 9,
      .out_channels = 3,
      .kernel_height = 1,
      .kernel_width = 1,
      .stride_height = 3,
      .stride_width = 3}},
    {"PadOverImage",
     {.batch = 1,
      .in_channels = 1,
      .in_height = 2,
      .in_width = 2,
      .out_channels = 2,
      .kernel_height = 5,
      .kernel_width = 5,
      .pad_height = 3,
      .pad_width = 3}},
    {"OneOutputChannel",
     {.batch = 2,
      .in_channels = 16,
      .in_height = 8,
      .in_width = 8,
      .out_channels = 1,
      .kernel_height = 3,
      .kernel_width = 3,
      .pad_height = 1,
      .pad_width = 1}},
    {"WidePlane",
     {.batch = 1,
      .in_channels = 1,
      .in_height = 3,
      .in_width = 100,
      .out_channels = 2,
      .kernel_height = 3,
      .kernel_width = 3}},
    // Batches that fill vectors of samples.
    {"FullBatch",
     {.batch = 64,
      .in_channels = 2,
      .in_height = 8,
      .in_width = 8,
      .out_channels = 4,
      .kernel_height = 3,
      .kernel_width = 3}},
    {"LeNetFirstFullBatch",
     {.batch = 32,
      .in_channels = 1,
      .in_height = 28,
      .in_width = 28,
      .out_channels = 20,
      .kernel_height = 5,
      .kernel_width = 5}},
    {"LeNetSecondFullBatch",
     {.batch = 16,
      .in_channels = 20,
      .in_height = 12,
      .in_width = 12,
      .out_channels = 50,
      .kernel_height = 5,
      .kernel_width = 5}},
    {"FullBatchPadded",
     {.batch = 32,
      .in_channels = 3,
      .in_height = 9,
      .in_width = 11,
      .out_channels = 5,
      .kernel_height = 5,
      .kernel_width = 3,
      .pad_height = 2,
      .pad_width = 1}},
    {"FullBatchPaddedUnequal",
     {.batch = 16,
      .in_channels = 2,
      .in_height = 5,
      .in_width = 19,
      .out_channels = 7,
      .kernel_height = 2,
      .kernel_width = 4,
      .pad_height = 1,
      .pad_width = 4}},
    {"FullBatchPadOverImage",
     {.batch = 16,
      .in_channels = 1,
      .in_height = 2,
      .in_width = 2,
      .out_channels = 2,
      .kernel_height = 5,
      .kernel_width = 5,
      .pad_height = 4,
      .pad_width = 4}},
    {"FullBatchOnePixel",
     {.batch = 16,
      .in_channels = 1,
      .in_height = 1,
      .in_width = 1,
      .out_channels = 1,
      .kernel_height = 1,
      .kernel_width = 1}},
};

struct Operands {
  explicit Operands(const Conv2dDesc& d)
      : x(Random(d.batch * d.in_channels * d.in_height * d.in_width, "x")),
        w(Random(d.out_channels * d.in_channels * d.kernel_height * d.kernel_width, "w")),
        b(Random(d.out_channels, "b")),
        dy(Random(d.batch * d.out_channels * d.out_height() * d.out_width(), "dy")),
        // Not zero: results must overwrite.
        y(dy.size(), 7.0f),
        dx(x.size(), 7.0f),
        dw(w.size(), 7.0f),
        db(b.size(), 7.0f) {}
  std::vector<float> x, w, b, dy, y, dx, dw, db;
};

class ConvolutionTest : public DeviceTest {};
GG_FOR_ALL_DEVICES(ConvolutionTest);

TEST_P(ConvolutionTest, MatchesTheDefinition) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    auto op = device().MakeConv2d(c.desc);
    ASSERT_TRUE(op.ok()) << op.status();
    Operands t(c.desc);
    const auto want = oracle::Convolution(c.desc, t.x, t.w, t.b, t.dy);
    for (int run = 0; run < 2; ++run) {  // the second run finds used scratch memory
      ASSERT_TRUE((*op)->Forward(stream(), t.x, t.w, t.b, absl::MakeSpan(t.y)).ok());
      ASSERT_TRUE((*op)->BackwardData(stream(), t.dy, t.w, absl::MakeSpan(t.dx)).ok());
      ASSERT_TRUE(
          (*op)
              ->BackwardParams(stream(), t.x, t.dy, absl::MakeSpan(t.dw), absl::MakeSpan(t.db))
              .ok());
      ExpectClose(t.y, want.y, kTolerance, "y");
      ExpectClose(t.dx, want.dx, kTolerance, "dx");
      ExpectClose(t.dw, want.dw, kTolerance, "dw");
      ExpectClose(t.db, want.db, kTolerance, "db");
    }
  }
}

TEST_P(ConvolutionTest, SameInputSameBits) {
  auto op = device().MakeConv2d(kCases[1].desc);
  ASSERT_TRUE(op.ok()) << op.status();
  auto other = device().MakeConv2d(kCases[1].desc);
  ASSERT_TRUE(other.ok()) << other.status();
  Operands a(kCases[1].desc), b(kCases[1].desc);
  ASSERT_TRUE(
      (*op)->BackwardParams(stream(), a.x, a.dy, absl::MakeSpan(a.dw), absl::MakeSpan(a.db)).ok());
  ASSERT_TRUE((*other)
                  ->BackwardParams(stream(), b.x, b.dy, absl::MakeSpan(b.dw), absl::MakeSpan(b.db))
                  .ok());
  EXPECT_EQ(a.dw, b.dw);
  EXPECT_EQ(a.db, b.db);
}

TEST_P(ConvolutionTest, TakesOperandsAtAnyFloatAddress) {
  const Conv2dDesc& d = kCases[6].desc;
  auto op = device().MakeConv2d(d);
  ASSERT_TRUE(op.ok()) << op.status();
  Operands t(d);
  const auto want = oracle::Convolution(d, t.x, t.w, t.b, t.dy);
  std::vector<float> y(t.y.size() + 1);
  t.w.insert(t.w.begin(), 0.0f);
  ASSERT_TRUE(
      (*op)
          ->Forward(stream(), t.x, ConstFlat(t.w).subspan(1), t.b, absl::MakeSpan(y).subspan(1))
          .ok());
  ExpectClose(ConstFlat(y).subspan(1), want.y, kTolerance, "y");
}

}  // namespace
}  // namespace gg
