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

TEST(TopologyLabel, NamesAndValuesAreWordsAndGivenOnce) {
  std::map<std::string, std::string> labels;
  EXPECT_TRUE(AddTopologyLabel("rack=3", labels).ok());
  EXPECT_TRUE(AddTopologyLabel("row=b.2", labels).ok());
  EXPECT_EQ(labels, (std::map<std::string, std::string>{{"rack", "3"}, {"row", "b.2"}}));
  EXPECT_THAT(std::string(AddTopologyLabel("rack=4", labels).message()),
              ::testing::HasSubstr("topology rack is given twice"));
  for (const char* text : {"rack", "=3", "rack=", "rack=a b", "ra ck=1", "", "="}) {
    std::map<std::string, std::string> none;
    EXPECT_EQ(AddTopologyLabel(text, none).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(TopologyLabel, ThereAreNotTooMany) {
  std::map<std::string, std::string> labels;
  for (int i = 0; i < 16; ++i) labels[std::string(1, static_cast<char>('a' + i))] = "1";
  EXPECT_TRUE(CheckTopology(labels).ok());
  labels["z"] = "1";
  EXPECT_EQ(CheckTopology(labels).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
