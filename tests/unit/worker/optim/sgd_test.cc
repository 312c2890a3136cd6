// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/nn/network.h"
#include "worker/optim/optimizer.h"

namespace gg {
namespace {

using testing::HasSubstr;

class SgdTest : public testing::Test {
 protected:
  SgdTest() : device_(MakeDevice("reference", {}).value()), stream_(device_->MakeStream().value()) {
    std::vector<BlockInfo> blocks = {
        {.name = "b", .tensors = {{.name = "b.weight", .shape = {3}}}},
        {.name = "a", .tensors = {{.name = "a.weight", .shape = {2}}}}};
    arena_ = ParamArena::Create(*device_, blocks).value();
  }

  std::unique_ptr<Optimizer> Make(double momentum, double decay) {
    return MakeOptimizer({.name = "sgd", .momentum = momentum, .weight_decay = decay}, *device_,
                         *stream_, *arena_)
        .value();
  }
  absl::Status Refusal(const OptimizerSpec& spec) {
    return MakeOptimizer(spec, *device_, *stream_, *arena_).status();
  }

  const std::unique_ptr<Device> device_;
  const std::unique_ptr<Stream> stream_;
  std::unique_ptr<ParamArena> arena_;
};

TEST_F(SgdTest, MomentumFollowsCaffesConventionOverSteps) {
  auto sgd = Make(0.9, 0.5);
  const Flat w = arena_->weights(0);
  w[0] = 2.0f;
  double weight = 2, velocity = 0;
  for (const double rate : {0.1, 0.1, 0.05}) {
    arena_->gradients(0)[0] = 3.0f;
    ASSERT_TRUE(sgd->Update(0, 0, rate).ok());
    velocity = 0.9 * velocity + rate * (3 + 0.5 * weight);
    weight -= velocity;
    EXPECT_NEAR(w[0], weight, 1e-5);
    EXPECT_NEAR(arena_->momentum()[0], velocity, 1e-5);
  }
}

TEST_F(SgdTest, NesterovLooksAheadAlongTheMomentum) {
  auto sgd = MakeOptimizer({.name = "sgd", .momentum = 0.9, .weight_decay = 0.5, .nesterov = true},
                           *device_, *stream_, *arena_)
                 .value();
  const Flat w = arena_->weights(0);
  w[0] = 2.0f;
  double weight = 2, velocity = 0;
  for (const double rate : {0.1, 0.1, 0.05}) {
    arena_->gradients(0)[0] = 3.0f;
    ASSERT_TRUE(sgd->Update(0, 0, rate).ok());
    const double step = rate * (3 + 0.5 * weight);
    velocity = 0.9 * velocity + step;
    weight -= 0.9 * velocity + step;
    EXPECT_NEAR(w[0], weight, 1e-5);
    EXPECT_NEAR(arena_->momentum()[0], velocity, 1e-5);
  }
}

TEST_F(SgdTest, APieceAtATimeGivesTheSameBits) {
  for (const bool nesterov : {false, true}) {
    auto other = ParamArena::Create(
                     *device_, {{.name = "c", .tensors = {{.name = "c.weight", .shape = {1000}}}}})
                     .value();
    auto pieced = ParamArena::Create(
                      *device_, {{.name = "c", .tensors = {{.name = "c.weight", .shape = {1000}}}}})
                      .value();
    const OptimizerSpec spec{
        .name = "sgd", .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov};
    auto whole = MakeOptimizer(spec, *device_, *stream_, *other).value();
    auto pieces = MakeOptimizer(spec, *device_, *stream_, *pieced).value();
    for (int step = 0; step < 3; ++step) {
      for (size_t i = 0; i < other->size(); ++i) {
        other->gradients()[i] = pieced->gradients()[i] =
            0.013f * static_cast<float>((i * 37 + static_cast<size_t>(step)) % 101) - 0.5f;
      }
      ASSERT_TRUE(whole->Update(0, 0, 0.07).ok());
      for (size_t at = 0, count = 1; at < pieced->size(); at += count, count = count * 2 + 3) {
        ASSERT_TRUE(pieces->UpdateRange(at, std::min(count, pieced->size() - at), 0, 0.07).ok());
      }
    }
    EXPECT_THAT(pieced->weights(), testing::ElementsAreArray(other->weights()));
    EXPECT_THAT(pieced->momentum(), testing::ElementsAreArray(other->momentum()));
  }
}

TEST_F(SgdTest, RefusesARangeOutsideTheArena) {
  auto sgd = Make(0.9, 0);
  const size_t size = arena_->size();
  EXPECT_TRUE(sgd->UpdateRange(size, 0, 0, 0.1).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sgd->UpdateRange(0, size + 1, 0, 0.1)));
  EXPECT_TRUE(absl::IsInvalidArgument(sgd->UpdateRange(size + 1, 0, 0, 0.1)));
  EXPECT_TRUE(absl::IsInvalidArgument(sgd->UpdateRange(1, ~size_t{0}, 0, 0.1)));
}

TEST_F(SgdTest, OnlyTheBlockIsTouched) {
  auto sgd = Make(0.9, 0);
  for (float& g : arena_->gradients()) g = 1.0f;
  ASSERT_TRUE(sgd->Update(1, 0, 0.1).ok());
  for (const float w : arena_->weights(0)) EXPECT_EQ(w, 0.0f);
  EXPECT_NE(arena_->weights(1)[0], 0.0f);
}

TEST_F(SgdTest, BlocksOneByOneEqualTheWholeArenaAtOnce) {
  auto other = ParamArena::Create(*device_,
                                  {{.name = "c", .tensors = {{.name = "c.weight", .shape = {32}}}}})
                   .value();
  auto whole = MakeOptimizer({}, *device_, *stream_, *other).value();
  auto blocks = Make(0.9, 0);
  ASSERT_EQ(other->size(), arena_->size());
  for (size_t i = 0; i < other->size(); ++i)
    other->gradients()[i] = arena_->gradients()[i] = 0.01f * static_cast<float>(i) - 0.1f;
  for (int step = 0; step < 3; ++step) {
    ASSERT_TRUE(whole->Update(0, 0, 0.07).ok());
    ASSERT_TRUE(blocks->Update(0, 0, 0.07).ok());
    ASSERT_TRUE(blocks->Update(1, 0, 0.07).ok());
  }
  EXPECT_EQ(other->weights(), arena_->weights());
}

TEST_F(SgdTest, GapsStayZeroOverTrainingSteps) {
  for (const char* name : {"reference", "onednn"}) {
    auto device = MakeDevice(name, {});
    if (absl::IsUnavailable(device.status())) continue;
    ASSERT_TRUE(device.ok()) << device.status();
    NetworkOptions options;
    options.model.name = "mlp";
    options.model.hidden = {13, 7};
    options.input = {1, 5, 5};
    options.batch_size = 4;
    auto net = MakeNetwork(**device, options).value();
    auto stream = (*device)->MakeStream().value();
    auto sgd =
        MakeOptimizer({.momentum = 0.9, .weight_decay = 0.01}, **device, *stream, net->arena())
            .value();
    const std::vector<float> x(100, 0.3f);
    const std::vector<int32_t> labels = {1, 2, 3, 4};
    for (uint64_t step = 0; step < 5; ++step) {
      ASSERT_TRUE(net->Forward(step, x, labels, [](BlockIndex) { return absl::OkStatus(); }).ok());
      ASSERT_TRUE(net->Backward([&](BlockIndex b) { return sgd->Update(b, step, 0.1); }).ok());
    }
    ParamArena& arena = net->arena();
    size_t gaps = 0;
    for (BlockIndex b = 0; b < arena.block_count(); ++b) {
      const BlockInfo& block = arena.block(b);
      const TensorInfo& last = block.tensors.back();
      for (size_t i = last.offset + last.count; i < block.offset + block.count; ++i, ++gaps) {
        EXPECT_EQ(arena.weights()[i], 0.0f);
        EXPECT_EQ(arena.gradients()[i], 0.0f);
        EXPECT_EQ(arena.momentum()[i], 0.0f);
      }
    }
    EXPECT_GT(gaps, 0u);
  }
}

TEST_F(SgdTest, WrongUseIsRefused) {
  auto sgd = Make(0.9, 0);
  EXPECT_EQ(sgd->Update(2, 0, 0.1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sgd->Update(-1, 0, 0.1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sgd->Update(0, 0, std::numeric_limits<double>::infinity()).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sgd->Update(0, 0, std::nan("")).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SgdTest, ImpossibleSpecificationsAreRefused) {
  EXPECT_THAT(Refusal({.name = "adagrad"}).message(),
              HasSubstr("spec.optimizer.name: must be one of sgd, sgd-pytorch, adam, adamw, lars, "
                        "lamb, got \"adagrad\""));
  EXPECT_THAT(Refusal({.momentum = 1.0}).message(), HasSubstr("momentum"));
  EXPECT_THAT(Refusal({.momentum = std::nan("")}).message(), HasSubstr("momentum"));
  EXPECT_THAT(Refusal({.weight_decay = -1e-9}).message(), HasSubstr("weight_decay"));
}

}  // namespace
}  // namespace gg
