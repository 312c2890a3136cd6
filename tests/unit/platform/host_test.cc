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

TEST(IsLoopback, TakesNumbersOfThisMachineOnly) {
  for (const char* yes : {"127.0.0.1:0", "127.1.2.3:80", "localhost:7070", "[::1]:1"})
    EXPECT_TRUE(IsLoopback(yes).value()) << yes;
  for (const char* no : {"127.example.org:1", "127.0.0.1.example.org:1", "127.1:1", "10.0.0.1:1",
                         "[::]:1", "0.0.0.0:1", "localhost.example.org:1"})
    EXPECT_FALSE(IsLoopback(no).value()) << no;
  for (const char* bad : {"", "host", "host:", "host:x", "host:65536", "host:-1", "host: 1", ":1",
                          "::1:1", "[::1:1", "[]:1", "[x]:1"})
    EXPECT_FALSE(IsLoopback(bad).ok()) << bad;
}

TEST(ExecutableFolder, HoldsThisTest) {
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(ExecutableFolder()) / "platform_test"));
}

}  // namespace
}  // namespace gg
