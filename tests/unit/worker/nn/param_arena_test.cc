// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/param_arena.h"

#include "gtest/gtest.h"

namespace gg {
namespace {

std::vector<BlockInfo> TwoBlocks() {
  return {
      {.name = "last",
       .tensors = {{.name = "last.weight", .shape = {3, 5}}, {.name = "last.bias", .shape = {3}}}},
      {.name = "first", .tensors = {{.name = "first.weight", .shape = {4, 4}}}}};
}

TEST(ParamArenaTest, BlocksAreContiguousAndAligned) {
  auto device = MakeDevice("reference", {}).value();
  auto arena = ParamArena::Create(*device, TwoBlocks()).value();
  ASSERT_EQ(arena->block_count(), 2);
  EXPECT_EQ(arena->parameter_count(), 15u + 3 + 16);
  EXPECT_EQ(arena->block(0).offset, 0u);
  EXPECT_EQ(arena->block(0).count, 32u) << "18 floats, padded to 64 bytes";
  EXPECT_EQ(arena->block(1).offset, 32u);
  EXPECT_EQ(arena->block(1).count, 16u);
  EXPECT_EQ(arena->size(), 48u);
  EXPECT_EQ(arena->block(0).tensors[1].offset, 15u)
      << "tensors of a block follow each other without gaps";
  for (BlockIndex b = 0; b < 2; ++b) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->weights(b).data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->gradients(b).data()) % 64, 0u);
  }
}

TEST(ParamArenaTest, ViewsOfTensorsLieInTheirBlock) {
  auto device = MakeDevice("reference", {}).value();
  auto arena = ParamArena::Create(*device, TwoBlocks()).value();
  const TensorInfo& bias = arena->block(0).tensors[1];
  EXPECT_EQ(arena->weights(bias).size(), 3u);
  EXPECT_EQ(arena->weights(bias).data(), arena->weights(0).data() + 15);
  EXPECT_EQ(arena->gradients(bias).data(), arena->gradients(0).data() + 15);
}

TEST(ParamArenaTest, StateIsWhatTheOptimizerAsksFor) {
  auto device = MakeDevice("reference", {}).value();
  auto arena = ParamArena::Create(*device, TwoBlocks()).value();
  EXPECT_EQ(arena->state_count(), 0);
  EXPECT_TRUE(arena->momentum().empty());
  ASSERT_TRUE(arena->AllocateState(*device, 2).ok());
  ASSERT_EQ(arena->state_count(), 2);
  EXPECT_EQ(arena->momentum().data(), arena->state(0).data());
  EXPECT_NE(arena->state(0).data(), arena->state(1).data());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(arena->state(i).size(), arena->size());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->state(i).data()) % 64, 0u);
    for (const float value : arena->state(i)) ASSERT_EQ(value, 0.0f);
  }
  arena->state(0)[0] = 1;
  ASSERT_TRUE(arena->AllocateState(*device, 1).ok());
  EXPECT_EQ(arena->state_count(), 1);
  EXPECT_EQ(arena->momentum()[0], 0.0f) << "state of the optimizer before";
}

TEST(ParamArenaTest, BuffersAreSeparateAndOptional) {
  auto device = MakeDevice("reference", {}).value();
  EXPECT_TRUE(ParamArena::Create(*device, TwoBlocks()).value()->buffers().empty());
  EXPECT_EQ(ParamArena::Create(*device, TwoBlocks(), 10).value()->buffers().size(), 10u);
}

TEST(ParamArenaTest, ImpossibleShapeIsRefused) {
  auto device = MakeDevice("reference", {}).value();
  auto blocks = TwoBlocks();
  blocks[1].tensors[0].shape = {4, 0};
  const auto status = ParamArena::Create(*device, blocks).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("first.weight"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace gg
