// SPDX-License-Identifier: Apache-2.0
//
// Scenarios as text. After a wanted change of behaviour: GG_REGENERATE=1 runs write the files anew;
// read the diff.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/state/transcript.h"

namespace gg {
namespace {

std::vector<std::string> Scenarios() {
  const char* folder = std::getenv("GG_TESTDATA");
  std::vector<std::string> names;
  if (folder == nullptr || !std::filesystem::is_directory(folder)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The file as it would be if the coordinator is right in everything it does.
std::string RunAll(const std::string& text) {
  Transcript transcript;
  std::istringstream in(text);
  std::string line, out, answer;
  bool in_answer = false;
  while (std::getline(in, line)) {
    if (in_answer) {  // what was expected before; an empty line ends it
      if (line.empty()) {
        in_answer = false;
        absl::StrAppend(&out, "\n");
      }
      continue;
    }
    absl::StrAppend(&out, line, "\n");
    if (line == "----") {
      absl::StrAppend(&out, answer);
      answer.clear();
      in_answer = true;
    } else if (!line.empty() && !absl::StartsWith(line, "#")) {
      absl::StrAppend(&answer, transcript.Run(line));
    }
  }
  return out;
}

class TranscriptTest : public testing::TestWithParam<std::string> {};

TEST_P(TranscriptTest, GoesAsWritten) {
  const std::string path = absl::StrCat(std::getenv("GG_TESTDATA"), "/", GetParam(), ".txt");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string actual = RunAll(text.str());
  if (std::getenv("GG_REGENERATE") != nullptr) {
    std::ofstream(path) << actual;
    return;
  }
  EXPECT_EQ(actual, text.str()) << "in " << path;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, TranscriptTest, testing::ValuesIn(Scenarios()),
                         [](const auto& param) { return param.param; });

TEST(TranscriptFilesTest, AreThere) {
  EXPECT_GE(Scenarios().size(), 10u);
}

}  // namespace
}  // namespace gg
