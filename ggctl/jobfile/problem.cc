// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gg {
namespace {

constexpr size_t kShownCharacters = 100;

// The bytes of characters [first, first + count) of valid UTF-8.
absl::string_view Characters(absl::string_view text, size_t first, size_t count) {
  const auto skip = [&](size_t from, size_t characters) {
    size_t i = from;
    for (size_t seen = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
      if (seen++ == characters) break;
    }
    return i;
  };
  const size_t begin = skip(0, first);
  return text.substr(begin, skip(begin, count) - begin);
}

}  // namespace

std::string FormatProblem(const Problem& problem, absl::string_view text, bool color) {
  const bool error = problem.severity == Severity::kError;
  const absl::string_view bold = color ? "\x1b[1m" : "", off = color ? "\x1b[0m" : "";
  const absl::string_view tint = !color ? "" : error ? "\x1b[1;31m" : "\x1b[1;33m";
  std::string out = absl::StrCat(bold, Printable(problem.source));
  if (problem.position.line > 0) {
    absl::StrAppend(&out, ":", problem.position.line, ":", problem.position.column);
  }
  absl::StrAppend(&out, ":", off, " ", tint, error ? "error:" : "warning:", off, " ",
                  Printable(problem.path), problem.path.empty() ? "" : ": ",
                  Printable(problem.message), "\n");
  if (problem.position.line > 0) {
    // A tab is one character wide here, so that the caret stays under its column.
    const std::string line = Printable(LineOf(text, problem.position.line));
    const size_t caret = static_cast<size_t>(std::max(0, problem.position.column - 1));
    const size_t first = caret < kShownCharacters * 3 / 4 ? 0 : caret - kShownCharacters / 2;
    absl::StrAppend(&out, absl::StrFormat("%6d | ", problem.position.line),
                    Characters(line, first, kShownCharacters), "\n       | ",
                    std::string(caret - first, ' '), tint, "^", off, "\n");
  }
  if (!problem.suggestion.empty())
    absl::StrAppend(&out, "       = ", Printable(problem.suggestion), "\n");
  return out;
}

}  // namespace gg
