// SPDX-License-Identifier: Apache-2.0
#include "worker/train/norm_meter.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "tests/support/series_sink.h"

namespace gg {
namespace {

struct World {
  explicit World(int64_t floats) {
    TensorInfo tensor;
    tensor.name = "layer.weight";
    tensor.shape = {floats};
    BlockInfo block;
    block.name = "layer";
    block.tensors.push_back(std::move(tensor));
    auto made = ParamArena::Create(*device, {block}, 0);
    EXPECT_TRUE(made.ok()) << made.status();
    arena = *std::move(made);
    meter = std::make_unique<NormMeter>(*device, *stream, *arena, sink);
  }
  // Takes `by` off all weights, in two pieces, as an update of `step`.
  void Update(uint64_t step, float by) {
    const size_t half = arena->size() / 2;
    for (const size_t offset : {size_t{0}, half}) {
      const size_t count = offset == 0 ? half : arena->size() - half;
      const absl::Status status = meter->Watch(step, offset, count, [&] {
        for (size_t i = offset; i < std::min(offset + count, arena->parameter_count()); ++i) {
          arena->weights()[i] -= by;
        }
        return absl::OkStatus();
      });
      EXPECT_TRUE(status.ok()) << status;
    }
  }
  double Ratio() { return sink.series().at("gossipgrad_update_to_param_ratio"); }
  void Fill(Flat values, float value) {
    const size_t count = arena->parameter_count();  // what follows is padding, and 0
    for (size_t i = 0; i < count; ++i) values[i] = value;
  }

  std::unique_ptr<Device> device = MakeReferenceDevice();
  std::unique_ptr<Stream> stream = *device->MakeStream();
  std::unique_ptr<ParamArena> arena;
  SeriesSink sink;
  std::unique_ptr<NormMeter> meter;
};

constexpr int64_t kFloats = 40000;

TEST(NormMeter, MeasuresGradientParametersAndUpdate) {
  World world(kFloats);
  world.Fill(world.arena->gradients(), -0.5f);
  world.Fill(world.arena->weights(), 2.125f);
  world.Update(0, 0.125f);
  ASSERT_TRUE(world.meter->AfterStep(0).ok());
  const auto series = world.sink.series();
  const double root = std::sqrt(static_cast<double>(kFloats));
  EXPECT_NEAR(series.at("gossipgrad_grad_norm"), 0.5 * root, 1e-6 * root);
  EXPECT_NEAR(series.at("gossipgrad_param_norm"), 2.0 * root, 1e-6 * root);
  EXPECT_NEAR(series.at("gossipgrad_update_to_param_ratio"), 0.0625, 1e-9);
}

TEST(NormMeter, MeasuresTheFirstStepAndThenNowAndAgain) {
  World world(100);
  int measured = 0;
  for (uint64_t step = 0; step <= 2 * kNormsEvery; ++step) {
    world.Fill(world.arena->gradients(), static_cast<float>(step + 1));
    ASSERT_TRUE(world.meter->AfterStep(step).ok());
    const double norm = world.sink.series().at("gossipgrad_grad_norm");
    if (std::abs(norm - 10.0 * static_cast<double>(step + 1)) < 1e-6) ++measured;
  }
  EXPECT_EQ(measured, 3);
}

TEST(NormMeter, AnUpdateThatComesInTheStepAfterIsMeasuredThere) {
  World world(100);
  world.Fill(world.arena->weights(), 4.0f);
  ASSERT_TRUE(world.meter->AfterStep(0).ok());
  EXPECT_EQ(world.sink.series().count("gossipgrad_update_to_param_ratio"), 0u);
  world.Update(0, 2.0f);
  ASSERT_TRUE(world.meter->AfterStep(1).ok());
  EXPECT_NEAR(world.Ratio(), 1.0, 1e-9);
  // What is not measured changes nothing, and the next measurement begins anew.
  for (uint64_t step = 1; step < kNormsEvery; ++step) {
    world.Update(step, 0.0f);
    ASSERT_TRUE(world.meter->AfterStep(step).ok());
  }
  EXPECT_NEAR(world.Ratio(), 1.0, 1e-9);
  world.Update(kNormsEvery, 1.0f);
  ASSERT_TRUE(world.meter->AfterStep(kNormsEvery).ok());
  EXPECT_NEAR(world.Ratio(), 1.0, 1e-9) << "1 of 2 - 1";
}

TEST(NormMeter, TheStatusOfTheUpdateComesBack) {
  World world(100);
  for (const uint64_t step : {uint64_t{0}, uint64_t{1}}) {
    const absl::Status status =
        world.meter->Watch(step, 0, 16, [] { return absl::InternalError("lost"); });
    EXPECT_EQ(status.message(), "lost");
  }
}

TEST(NormMeter, ANetworkOfZerosHasNoRatio) {
  World world(100);
  ASSERT_TRUE(world.meter->AfterStep(0).ok());
  const auto series = world.sink.series();
  EXPECT_EQ(series.at("gossipgrad_param_norm"), 0);
  EXPECT_EQ(series.count("gossipgrad_update_to_param_ratio"), 0u);
}

TEST(NormMeter, TheHelpSaysHowOften) {
  for (const GaugeId id : {GaugeId::kGradNorm, GaugeId::kParamNorm, GaugeId::kUpdateRatio}) {
    const MetricInfo& info = GaugeInfos()[static_cast<size_t>(id)];
    EXPECT_TRUE(absl::StrContains(info.help, absl::StrCat("every ", kNormsEvery, "th step")))
        << info.name;
  }
}

}  // namespace
}  // namespace gg
