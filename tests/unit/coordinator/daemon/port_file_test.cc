// SPDX-License-Identifier: Apache-2.0
#include "coordinator/daemon/port_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/store/temp_file.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

TEST(PortFileTest, HoldsOneJsonObjectAndLeavesNothingElse) {
  const TempFolder folder;
  const std::string path = folder.file("ports.json");
  std::ofstream(path) << "an old one";
  ASSERT_TRUE(WritePortFile(path, "127.0.0.1:1", "127.0.0.1:2").ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(
      text.str(),
      absl::StrCat("{\"grpc\":\"127.0.0.1:1\",\"http\":\"127.0.0.1:2\",\"pid\":", getpid(), "}\n"));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST(PortFileTest, AFolderThatIsNotThereIsNamed) {
  const TempFolder folder;
  const absl::Status status = WritePortFile(folder.file("missing/p"), "a", "b");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("missing/p"));
}

}  // namespace
}  // namespace gg
