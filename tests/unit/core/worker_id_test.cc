// SPDX-License-Identifier: Apache-2.0
#include "core/worker_id.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

TEST(WorkerId, HostNamesAreTaken) {
  for (const char* id : {"a", "0", "worker-0", "node7.rack2.example.org-1a2b", "gpu_3"}) {
    EXPECT_TRUE(CheckWorkerId(id).ok()) << id;
  }
  EXPECT_TRUE(CheckWorkerId(std::string(253, 'x')).ok());
}

TEST(WorkerId, WhatBreaksTablesLabelsOrFilesIsRefused) {
  for (const char* id : {"", "a b", "a\nb", "../x", "-a", ".", "a\"b", "{x}", "\xc3\xa4"}) {
    EXPECT_EQ(CheckWorkerId(id).code(), absl::StatusCode::kInvalidArgument) << id;
  }
  EXPECT_FALSE(CheckWorkerId(std::string(254, 'x')).ok());
  EXPECT_THAT(std::string(CheckWorkerId("a\nb").message()), ::testing::HasSubstr("a\\nb"));
}

}  // namespace
}  // namespace gg
