// SPDX-License-Identifier: Apache-2.0
#include "ggctl/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace gg {
namespace {

constexpr int kDefaultWidth = 80;

absl::string_view Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const absl::string_view value = Environment(name);
    if (value.empty()) continue;
    const std::string lower = absl::AsciiStrToLower(value);
    return absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
  }
  return false;
}

}  // namespace

Terminal Terminal::Detect(int fd, ColorMode mode) {
  Terminal terminal;
  terminal.fd = fd;
  terminal.is_terminal = isatty(fd) == 1 && Environment("TERM") != "dumb";
  terminal.utf8 = LocaleIsUtf8();
  switch (mode) {
    case ColorMode::kAlways:
      terminal.color = true;
      break;
    case ColorMode::kNever:
      break;
    case ColorMode::kAuto:
      terminal.color = terminal.is_terminal && Environment("NO_COLOR").empty();
      break;
  }
  return terminal;
}

int Terminal::Width() const {
  int columns = 0;
  if (absl::SimpleAtoi(Environment("COLUMNS"), &columns) && columns > 0) return columns;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultWidth;
}

}  // namespace gg
