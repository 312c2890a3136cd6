// SPDX-License-Identifier: Apache-2.0
//
// What the terminal can do. Decided once per stream from the descriptor, the environment and
// --color. Thread-safety: values; Detect reads the environment and must run before threads start.
#ifndef GOSSIPGRAD_GGCTL_TERMINAL_H_
#define GOSSIPGRAD_GGCTL_TERMINAL_H_

#include <string>

namespace gg {

enum class ColorMode { kAuto, kAlways, kNever };

struct Terminal {
  bool is_terminal = false;  // can move the cursor: a tty whose TERM is not "dumb"
  bool color = false;
  bool utf8 = false;  // the locale's encoding
  int fd = -1;

  static Terminal Detect(int fd, ColorMode mode);
  // Columns now: COLUMNS, else what the terminal says, else 80.
  int Width() const;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_TERMINAL_H_
