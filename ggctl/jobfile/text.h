// SPDX-License-Identifier: Apache-2.0
//
// Bytes and characters of a job file.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_JOBFILE_TEXT_H_
#define GOSSIPGRAD_GGCTL_JOBFILE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace gg {

// A place in a text; both count from 1, columns in characters (code points).
struct Position {
  int line = 0;
  int column = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

// Offset of the first byte that is not valid UTF-8 (overlong forms and surrogates included) or is a
// control character that no text file holds; npos when there is none.
size_t FirstBadByte(absl::string_view text);

// Characters in valid UTF-8.
size_t CountCharacters(absl::string_view text);

Position PositionOf(absl::string_view text, size_t offset);

// The given line without its end; "" when there is none.
absl::string_view LineOf(absl::string_view text, int line);

// `text` as it may be shown on a terminal, for everything that others wrote: control characters (C0,
// DEL, C1), marks that change the direction of writing and bytes that are no UTF-8 become '?'.
// Printable is one line: ends of lines and tabs become spaces; PrintableLines keeps ends of lines.
std::string Printable(absl::string_view text);
std::string PrintableLines(absl::string_view text);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOBFILE_TEXT_H_
