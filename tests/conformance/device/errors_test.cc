// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>

#include "tests/conformance/device/devices.h"

namespace gg {
namespace {

class ErrorsTest : public DeviceTest {
 protected:
  static void ExpectNames(const absl::Status& status, absl::string_view field) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_NE(status.message().find(field), absl::string_view::npos) << status;
  }
};
GG_FOR_ALL_DEVICES(ErrorsTest);

const Conv2dDesc kConv = {.batch = 2,
                          .in_channels = 3,
                          .in_height = 8,
                          .in_width = 8,
                          .out_channels = 4,
                          .kernel_height = 3,
                          .kernel_width = 3};
const Pool2dDesc kPool = {.kind = PoolKind::kMax,
                          .batch = 2,
                          .channels = 3,
                          .in_height = 8,
                          .in_width = 8,
                          .kernel_height = 2,
                          .kernel_width = 2,
                          .stride_height = 2,
                          .stride_width = 2};

TEST_P(ErrorsTest, ImpossibleConvolutionNamesTheField) {
  const struct {
    const char* field;
    std::function<void(Conv2dDesc&)> spoil;
  } cases[] = {{"batch", [](auto& d) { d.batch = 0; }},
               {"in_channels", [](auto& d) { d.in_channels = -1; }},
               {"out_channels", [](auto& d) { d.out_channels = 0; }},
               {"kernel_height", [](auto& d) { d.kernel_height = 9; }},
               {"kernel_width", [](auto& d) { d.kernel_width = 0; }},
               {"stride_height", [](auto& d) { d.stride_height = 0; }},
               {"pad_width", [](auto& d) { d.pad_width = -1; }},
               {"in_height", [](auto& d) { d.in_height = int64_t{1} << 40; }},
               {"elements", [](auto& d) { d.in_height = d.in_width = int64_t{1} << 30; }}};
  for (const auto& c : cases) {
    Conv2dDesc desc = kConv;
    c.spoil(desc);
    ExpectNames(device().MakeConv2d(desc).status(), c.field);
  }
}

TEST_P(ErrorsTest, ImpossiblePoolingNamesTheField) {
  const struct {
    const char* field;
    std::function<void(Pool2dDesc&)> spoil;
  } cases[] = {{"channels", [](auto& d) { d.channels = 0; }},
               {"kernel_width", [](auto& d) { d.kernel_width = 9; }},
               {"stride_width", [](auto& d) { d.stride_width = -2; }},
               {"pad_height", [](auto& d) { d.pad_height = 2; }}};
  for (const auto& c : cases) {
    Pool2dDesc desc = kPool;
    c.spoil(desc);
    ExpectNames(device().MakePool2d(desc).status(), c.field);
  }
}

TEST_P(ErrorsTest, ImpossibleLinearNamesTheField) {
  ExpectNames(device().MakeLinear({0, 1, 1}).status(), "batch");
  ExpectNames(device().MakeLinear({1, 0, 1}).status(), "in_features");
  ExpectNames(device().MakeLinear({1, 1, -7}).status(), "out_features");
}

TEST_P(ErrorsTest, ImpossibleBatchNormNamesTheField) {
  ExpectNames(device().MakeBatchNorm({0, 1, 1}).status(), "batch");
  ExpectNames(device().MakeBatchNorm({1, -2, 1}).status(), "channels");
  ExpectNames(device().MakeBatchNorm({1, 1, 0}).status(), "spatial");
  const float nan = std::nanf("");
  for (const float value : {0.0f, -1.0f, 2.0f, nan})
    ExpectNames(device().MakeBatchNorm({2, 1, 1, value}).status(), "epsilon");
  for (const float value : {-0.1f, 1.5f, nan})
    ExpectNames(device().MakeBatchNorm({2, 1, 1, 1e-5f, value}).status(), "momentum");
}

TEST_P(ErrorsTest, WrongOperandSizesOfBatchNormAreNamed) {
  auto op = device().MakeBatchNorm({2, 3, 4});
  ASSERT_TRUE(op.ok()) << op.status();
  std::vector<float> images(24), channels(3), other(5);
  const Flat x = absl::MakeSpan(images), c = absl::MakeSpan(channels),
             wrong = absl::MakeSpan(other);
  ExpectNames((*op)->Forward(stream(), wrong, c, c, c, c, x), "Forward: x");
  ExpectNames((*op)->Forward(stream(), x, wrong, c, c, c, x), "Forward: gamma");
  ExpectNames((*op)->Forward(stream(), x, c, wrong, c, c, x), "Forward: beta");
  ExpectNames((*op)->Forward(stream(), x, c, c, wrong, c, x), "Forward: running_mean");
  ExpectNames((*op)->Forward(stream(), x, c, c, c, wrong, x), "Forward: running_variance");
  ExpectNames((*op)->Forward(stream(), x, c, c, c, c, wrong), "Forward: y");
  ExpectNames((*op)->Infer(stream(), x, c, c, c, wrong, x), "Infer: variance");
  std::vector<float> mean(3), variance(3), y(24);
  ASSERT_TRUE((*op)
                  ->Forward(stream(), x, c, c, absl::MakeSpan(mean), absl::MakeSpan(variance),
                            absl::MakeSpan(y))
                  .ok());
  ExpectNames((*op)->BackwardParams(stream(), x, wrong, c, c), "BackwardParams: dy");
  ExpectNames((*op)->BackwardParams(stream(), x, x, wrong, c), "BackwardParams: dgamma");
  ASSERT_TRUE((*op)->BackwardParams(stream(), x, x, c, c).ok());
  ExpectNames((*op)->BackwardData(stream(), x, x, wrong, x), "BackwardData: gamma");
  ExpectNames((*op)->BackwardData(stream(), x, x, c, wrong), "BackwardData: dx");
}

TEST_P(ErrorsTest, WrongOperandSizesAreNamed) {
  auto conv = device().MakeConv2d(kConv);
  ASSERT_TRUE(conv.ok()) << conv.status();
  std::vector<float> x(2 * 3 * 64), w(4 * 3 * 9), b(4), y(2 * 4 * 36), wrong(5);
  ExpectNames((*conv)->Forward(stream(), wrong, w, b, absl::MakeSpan(y)), "Forward: x");
  ExpectNames((*conv)->Forward(stream(), x, wrong, b, absl::MakeSpan(y)), "Forward: w");
  ExpectNames((*conv)->Forward(stream(), x, w, wrong, absl::MakeSpan(y)), "Forward: b");
  ExpectNames((*conv)->Forward(stream(), x, w, b, absl::MakeSpan(wrong)), "Forward: y");
  ExpectNames((*conv)->BackwardData(stream(), wrong, w, absl::MakeSpan(x)), "BackwardData: dy");
  ExpectNames((*conv)->BackwardParams(stream(), x, y, absl::MakeSpan(w), absl::MakeSpan(wrong)),
              "BackwardParams: db");
  auto linear = device().MakeLinear({2, 3, 4});
  ASSERT_TRUE(linear.ok()) << linear.status();
  ExpectNames((*linear)->Forward(stream(), x, w, b, absl::MakeSpan(y)), "Linear");
  auto pool = device().MakePool2d(kPool);
  ASSERT_TRUE(pool.ok()) << pool.status();
  ExpectNames((*pool)->Forward(stream(), wrong, absl::MakeSpan(y)), "Forward: x");
  ExpectNames((*pool)->Backward(stream(), wrong, absl::MakeSpan(x)), "Backward: dy");
}

TEST_P(ErrorsTest, VectorsOfUnequalSizeAreRefused) {
  std::vector<float> three(3), four(4);
  const Flat y = absl::MakeSpan(four);
  ExpectNames(device().Copy(stream(), three, y), "Copy");
  ExpectNames(device().Axpby(stream(), 1, three, 1, y), "Axpby");
  ExpectNames(device().AddDifference(stream(), 1, four, three, y), "AddDifference: s");
  ExpectNames(device().SquaredDistance(stream(), three, y).status(), "SquaredDistance");
  ExpectNames(device().SgdMomentum(stream(), {0.1f, 0, 0}, three, y, y), "SgdMomentum");
  ExpectNames(device().SgdMomentum(stream(), {0.1f, 0.9f, 0}, four, Flat(), y), "SgdMomentum: v");
  const AdamParams adam{0.1, 0.9, 0.99, 1e-8, 0, /*step=*/1};
  ExpectNames(device().Adam(stream(), adam, four, absl::MakeSpan(three), y, y), "Adam: m");
  ExpectNames(device().Adam(stream(), adam, four, y, absl::MakeSpan(three), y), "Adam: v");
  ExpectNames(device().AdamDirection(stream(), adam, four, four, y, y, absl::MakeSpan(three)),
              "AdamDirection: r");
  ExpectNames(device().Adam(stream(), {0.1, 0.9, 0.99, 1e-8, 0, /*step=*/0}, four, y, y, y),
              "numbered from 1");
  ExpectNames(device().Clamp(stream(), -1, y), "limit is -1");
  ExpectNames(device().Relu(stream(), three, y), "Relu");
  ExpectNames(device().ReluBackward(stream(), four, three, y), "ReluBackward: dy");
  ExpectNames(device().Multiply(stream(), four, three, y), "Multiply: mask");
  const std::vector<int32_t> labels = {0};
  ExpectNames(device().SoftmaxCrossEntropy(stream(), three, labels, 4, 1, Flat()).status(),
              "logits");
  ExpectNames(
      device().SoftmaxCrossEntropy(stream(), four, labels, 4, 1, absl::MakeSpan(three)).status(),
      "dlogits");
  ExpectNames(device().SoftmaxCrossEntropy(stream(), four, labels, 0, 1, Flat()).status(),
              "classes");
}

}  // namespace
}  // namespace gg
