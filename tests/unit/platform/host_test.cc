// SPDX-License-Identifier: Apache-2.0
#include "platform/host.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace gg {
namespace {

TEST(Host, HasANameAndOneBoot) {
  EXPECT_FALSE(HostName().empty());
  EXPECT_EQ(BootId(), BootId());
}

TEST(ExecutableFolder, HoldsThisTest) {
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(ExecutableFolder()) / "platform_test"));
}

}  // namespace
}  // namespace gg
