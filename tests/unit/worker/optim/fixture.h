// SPDX-License-Identifier: Apache-2.0
//
// A small arena on the reference device for tests of optimizers.
#ifndef GOSSIPGRAD_TESTS_UNIT_WORKER_OPTIM_FIXTURE_H_
#define GOSSIPGRAD_TESTS_UNIT_WORKER_OPTIM_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/device.h"
#include "worker/optim/optimizer.h"

namespace gg {

class OptimizerTest : public testing::Test {
 protected:
  // Two blocks, the second of which has a normalisation in it; neither fills its lines.
  std::unique_ptr<ParamArena> MakeArena() {
    return ParamArena::Create(*device_, {{.name = "fc2",
                                          .tensors = {{.name = "fc2.weight", .shape = {10, 5}},
                                                      {.name = "fc2.bias", .shape = {5}}}},
                                         {.name = "fc1",
                                          .tensors = {{.name = "bn1.gamma", .shape = {7}},
                                                      {.name = "fc1.weight", .shape = {7, 11}},
                                                      {.name = "fc1.bias", .shape = {7}}}}})
        .value();
  }
  std::unique_ptr<Optimizer> Make(const OptimizerSpec& spec, ParamArena& arena) {
    auto made = MakeOptimizer(spec, *device_, *stream_, arena);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : nullptr;
  }
  absl::Status Refusal(const OptimizerSpec& spec) {
    auto arena = MakeArena();
    return MakeOptimizer(spec, *device_, *stream_, *arena).status();
  }

  static std::vector<TensorInfo> Tensors(const ParamArena& arena) {
    std::vector<TensorInfo> tensors;
    for (BlockIndex b = 0; b < arena.block_count(); ++b) {
      for (const TensorInfo& t : arena.block(b).tensors) tensors.push_back(t);
    }
    return tensors;
  }
  // Numbers of -1 .. 1 in every parameter, another set for each seed; gaps stay zero.
  static void Scatter(ParamArena& arena, Flat values, int seed) {
    for (const TensorInfo& t : Tensors(arena)) {
      for (size_t i = t.offset; i < t.offset + t.count; ++i) {
        const size_t mixed = (i * 2654435761u + static_cast<size_t>(seed) * 40503u) % 20011;
        values[i] = static_cast<float>(mixed) / 10005.5f - 1.0f;
      }
    }
  }
  static std::vector<float> Values(ConstFlat values) { return {values.begin(), values.end()}; }

  const std::unique_ptr<Device> device_ = MakeDevice("reference", {}).value();
  const std::unique_ptr<Stream> stream_ = device_->MakeStream().value();
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_WORKER_OPTIM_FIXTURE_H_
