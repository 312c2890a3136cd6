// SPDX-License-Identifier: Apache-2.0
#include "kernels/host_buffer.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace gg {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

TEST(HostBufferTest, LargeBuffersBeginOnAHugePage) {
  auto buffer = AllocateHost((size_t{1} << 20) + 4);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->data()) % kHugePage, 0u);
  EXPECT_EQ((*buffer)->floats().size(), (size_t{1} << 18) + 1);
}

TEST(HostBufferTest, FreedMemoryComesBackZeroed) {
  for (int round = 0; round < 3; ++round) {
    auto buffer = AllocateHost(4096);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    for (float& f : (*buffer)->floats()) {
      ASSERT_EQ(f, 0.0f);
      f = 1.0f;
    }
  }
}

TEST(HostBufferTest, EmptyBufferHasAnAddress) {
  auto buffer = AllocateHost(0);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_NE((*buffer)->data(), nullptr);
  EXPECT_TRUE((*buffer)->floats().empty());
}

}  // namespace
}  // namespace gg
