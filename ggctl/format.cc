// SPDX-License-Identifier: Apache-2.0
#include "ggctl/format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ggctl/jobfile/text.h"

namespace gg {

std::string StateName(gossipgrad::v1::JobState state) {
  absl::string_view name = gossipgrad::v1::JobState_Name(state);
  absl::ConsumePrefix(&name, "JOB_STATE_");
  std::string out = absl::AsciiStrToLower(name);
  if (out.empty()) return absl::StrCat("State", static_cast<int>(state));  // of a newer coordinator
  out[0] = absl::ascii_toupper(static_cast<unsigned char>(out[0]));
  return out;
}

std::string ShortDuration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "<unknown>";
  const int64_t s = static_cast<int64_t>(seconds);
  if (s < 60) return absl::StrCat(s, "s");
  if (s < 3600) return absl::StrFormat("%dm%02ds", s / 60, s % 60);
  if (s < 86400) return absl::StrFormat("%dh%02dm", s / 3600, s % 3600 / 60);
  return absl::StrFormat("%dd%dh", s / 86400, s % 86400 / 3600);
}

std::string Percent(double fraction, int digits) {
  return absl::StrFormat("%.*f%%", digits, fraction * 100);
}

std::string Bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  const int digits = unit == 0 ? 0 : bytes < 10 ? 2 : 1;
  return absl::StrFormat("%.*f %s", digits, bytes, kUnits[unit]);
}

std::string Thousands(double value) {
  std::string digits = absl::StrFormat("%.0f", value);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > (digits[0] == '-' ? 1 : 0);
       i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::string Rfc3339(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", ToTime(time), absl::UTCTimeZone());
}

std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  const auto shown = [](const std::string& cell) {
    return cell.empty() ? std::string("<none>") : Printable(cell);
  };
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown(row[i]).size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&out, shown(row[i]));
      if (i + 1 < row.size()) out.append(widths[i] - shown(row[i]).size() + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

bool NaturalLess(absl::string_view a, absl::string_view b) {
  const auto digits = [](absl::string_view s) {
    size_t n = 0;
    while (n < s.size() && absl::ascii_isdigit(static_cast<unsigned char>(s[n]))) ++n;
    return n;
  };
  const absl::string_view first = a, second = b;
  while (!a.empty() && !b.empty()) {
    const size_t na = digits(a), nb = digits(b);
    if (na == 0 || nb == 0) {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    absl::string_view x = a.substr(0, na), y = b.substr(0, nb);
    a.remove_prefix(na);
    b.remove_prefix(nb);
    while (x.size() > 1 && x[0] == '0') x.remove_prefix(1);
    while (y.size() > 1 && y[0] == '0') y.remove_prefix(1);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  // "w1" and "w01" count as equal up to here and still need an order.
  return a.empty() && b.empty() ? first < second : a.size() < b.size();
}

std::string BareName(const std::string& given) {
  absl::string_view name = given;
  if (!absl::ConsumePrefix(&name, "job/")) absl::ConsumePrefix(&name, "jobs/");
  return std::string(name);
}

bool ParseTimeout(const std::string& text, absl::Duration* out) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    if (!std::isfinite(seconds)) return false;
    *out = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, out)) {
    return false;
  }
  return *out >= absl::ZeroDuration() && *out < absl::InfiniteDuration();
}

std::string Wrapped(absl::string_view text, int indent, int width) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string out, line;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line.empty() && indent + static_cast<int>(line.size() + 1 + word.size()) > width) {
      absl::StrAppend(&out, margin, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  if (!line.empty()) absl::StrAppend(&out, margin, line, "\n");
  return out;
}

}  // namespace gg
