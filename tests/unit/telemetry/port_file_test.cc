// SPDX-License-Identifier: Apache-2.0
#include "telemetry/port_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

class PortFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = absl::StrCat(::testing::TempDir(), "/port_file_XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(PortFileTest, HoldsTheAddressesAndThePid) {
  const std::string path = folder_ + "/ports.json";
  ASSERT_TRUE(WritePortFile(path, {{"http", "127.0.0.1:1"}, {"transport", "odd \"name\""}}).ok());
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << text;
  EXPECT_EQ(json["http"], "127.0.0.1:1");
  EXPECT_EQ(json["transport"], "odd \"name\"");
  EXPECT_EQ(json["pid"], getpid());
}

TEST_F(PortFileTest, ReplacesAnOldFileAndLeavesNothingBeside) {
  const std::string path = folder_ + "/ports.json";
  ASSERT_TRUE(WritePortFile(path, {{"http", "old"}}).ok());
  ASSERT_TRUE(WritePortFile(path, {{"http", "new"}}).ok());
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(PortFileTest, SaysWhereAndWhyItCannotBeWritten) {
  const absl::Status status = WritePortFile(folder_ + "/missing/ports.json", {{"http", "x"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(folder_ + "/missing/ports.json"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("No such file"));
}

}  // namespace
}  // namespace gg
