// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace gg {
namespace {

// Length of the valid character at the start of `s`, 0 if there is none (RFC 3629).
size_t CharacterLength(absl::string_view s) {
  const auto byte = [&](size_t i) -> uint8_t {
    return i < s.size() ? static_cast<uint8_t>(s[i]) : 0;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

bool IsAllowedControl(char c) {
  return c == '\t' || c == '\n' || c == '\r';
}

// Of a valid character of two bytes or more.
bool IsInvisibleOrder(absl::string_view character) {
  if (character.size() == 2) {  // U+0080 .. U+009F
    const bool c1 = character[0] == '\xC2' && static_cast<uint8_t>(character[1]) < 0xA0;
    return c1 || character == "\u061C";
  }
  constexpr absl::string_view kDirections[] = {"\u200E", "\u200F", "\u202A", "\u202B", "\u202C",
                                               "\u202D", "\u202E", "\u2066", "\u2067", "\u2068",
                                               "\u2069", "\u2028", "\u2029"};
  return std::find(std::begin(kDirections), std::end(kDirections), character) !=
         std::end(kDirections);
}

std::string Shown(absl::string_view text, bool keep_lines) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = std::max<size_t>(1, CharacterLength(text.substr(i)));
    const absl::string_view character = text.substr(i, length);
    const uint8_t c = static_cast<uint8_t>(character[0]);
    i += length;
    if (c == '\n' && keep_lines) {
      out += '\n';
    } else if (c == '\n' || c == '\t') {
      out += ' ';
    } else if (c < 0x20 || c == 0x7F || (length == 1 && c >= 0x80) ||
               (length > 1 && IsInvisibleOrder(character))) {
      out += '?';
    } else {
      out.append(character.data(), character.size());
    }
  }
  return out;
}

}  // namespace

std::string Printable(absl::string_view text) {
  return Shown(text, false);
}

std::string PrintableLines(absl::string_view text) {
  return Shown(text, true);
}

size_t FirstBadByte(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const uint8_t c = static_cast<uint8_t>(text[i]);
    if ((c < 0x20 || c == 0x7F) && !IsAllowedControl(text[i])) return i;
    const size_t length = CharacterLength(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return absl::string_view::npos;
}

size_t CountCharacters(absl::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

Position PositionOf(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t line_start =
      before.rfind('\n') == absl::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(CountCharacters(before.substr(line_start))) + 1};
}

absl::string_view LineOf(absl::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

}  // namespace gg
