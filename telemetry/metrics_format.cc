// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metrics_format.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gg {
namespace {

struct MediaRange {
  absl::string_view type;
  absl::string_view version;  // "" = any
  double quality = 1;
};

absl::string_view Unquoted(absl::string_view value) {
  if (absl::ConsumePrefix(&value, "\"")) absl::ConsumeSuffix(&value, "\"");
  return value;
}

MediaRange Parse(absl::string_view text) {
  MediaRange range;
  bool first = true;
  for (absl::string_view part : absl::StrSplit(text, ';')) {
    part = absl::StripAsciiWhitespace(part);
    if (first) {
      range.type = part;
      first = false;
    } else if (absl::StartsWithIgnoreCase(part, "q=")) {
      // What is no number is no wish.
      if (!absl::SimpleAtod(part.substr(2), &range.quality)) range.quality = 0;
    } else if (absl::StartsWithIgnoreCase(part, "version=")) {
      range.version = Unquoted(part.substr(8));
    }
  }
  return range;
}

bool IsPlain(const MediaRange& range) {
  return absl::EqualsIgnoreCase(range.type, "text/plain") &&
         (range.version.empty() || range.version == "0.0.4");
}

bool IsOpenMetrics(const MediaRange& range) {
  return absl::EqualsIgnoreCase(range.type, "application/openmetrics-text") &&
         (range.version.empty() || range.version == "1.0.0");
}

}  // namespace

MetricsFormat NegotiateMetricsFormat(absl::string_view accept) {
  double plain = 0, open = 0;
  for (const absl::string_view text : absl::StrSplit(accept, ',')) {
    const MediaRange range = Parse(text);
    if (IsPlain(range)) plain = std::max(plain, range.quality);
    if (IsOpenMetrics(range)) open = std::max(open, range.quality);
  }
  return open > 0 && open >= plain ? MetricsFormat::kOpenMetrics : MetricsFormat::kText;
}

absl::string_view ContentTypeOf(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace gg
