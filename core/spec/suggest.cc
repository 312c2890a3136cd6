// SPDX-License-Identifier: Apache-2.0
#include "core/spec/suggest.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"

namespace gg {
namespace {

// Longer words are not compared: nobody types them, and the cost grows with the square.
constexpr size_t kLongestWord = 128;

std::string Plain(absl::string_view s) {
  std::string out;
  for (const char c : s) {
    if (c != '-' && c != '_') out.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

int EditDistance(absl::string_view a_text, absl::string_view b_text) {
  const std::string a = Plain(a_text.substr(0, kLongestWord));
  const std::string b = Plain(b_text.substr(0, kLongestWord));
  const size_t width = b.size() + 1;
  std::vector<int> before(width), above(width), row(width);
  for (size_t j = 0; j < width; ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j < width; ++j) {
      const int substitute = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::string Nearest(absl::string_view word, absl::Span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) return "";
  std::string best;
  int best_distance = static_cast<int>(std::max<size_t>(1, word.size() / 3)) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace gg
