// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/text.h"

#include <gtest/gtest.h>

#include <string>

namespace gg {
namespace {

constexpr size_t kNone = absl::string_view::npos;

TEST(FirstBadByte, TakesWellFormedText) {
  EXPECT_EQ(FirstBadByte(""), kNone);
  EXPECT_EQ(FirstBadByte("a\tb\r\nc"), kNone);
  EXPECT_EQ(FirstBadByte("é€😀\xF4\x8F\xBF\xBF"), kNone);
}

TEST(FirstBadByte, FindsWhatIsNotUtf8OrNotText) {
  EXPECT_EQ(FirstBadByte("ab\xFF"), 2u);
  EXPECT_EQ(FirstBadByte("ab\xC3"), 2u);            // cut off
  EXPECT_EQ(FirstBadByte("\xC0\xAF"), 0u);          // overlong
  EXPECT_EQ(FirstBadByte("\xE0\x80\xAF"), 0u);      // overlong
  EXPECT_EQ(FirstBadByte("\xED\xA0\x80"), 0u);      // surrogate
  EXPECT_EQ(FirstBadByte("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(FirstBadByte("\x80"), 0u);              // tail alone
  EXPECT_EQ(FirstBadByte(std::string("a\0b", 3)), 1u);
  EXPECT_EQ(FirstBadByte("\x1b[31m"), 0u);
}

TEST(PositionOf, CountsCharactersNotBytes) {
  EXPECT_EQ(PositionOf("é: x", 3), (Position{1, 3}));
  EXPECT_EQ(PositionOf("a\nbc", 3), (Position{2, 2}));
  EXPECT_EQ(PositionOf("", 0), (Position{1, 1}));
}

TEST(LineOf, GivesLinesWithoutTheirEnds) {
  EXPECT_EQ(LineOf("a\r\nb\n", 1), "a");
  EXPECT_EQ(LineOf("a\r\nb\n", 2), "b");
  EXPECT_EQ(LineOf("a\r\nb\n", 3), "");
  EXPECT_EQ(LineOf("a", 7), "");
}

}  // namespace
}  // namespace gg
