// SPDX-License-Identifier: Apache-2.0
#include "telemetry/openmetrics.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace gg {
namespace {

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\n", "\\n"}, {"\"", "\\\""}});
}

// The shortest text that reads back as the same number.
std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  for (const int digits : {6, 15, 17}) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    if (digits == 17 || std::strtod(text.c_str(), nullptr) == value) return text;
  }
  return "NaN";
}

// The specification wants bounds with a decimal point, so that all writers name the same series.
std::string Bound(double value) {
  std::string text = Number(value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string Labels(const std::vector<prometheus::ClientMetric::Label>& labels,
                   const std::string& le = "") {
  std::vector<std::string> parts;
  for (const auto& label : labels) {
    parts.push_back(absl::StrCat(label.name, "=\"", Escaped(label.value), "\""));
  }
  if (!le.empty()) parts.push_back(absl::StrCat("le=\"", le, "\""));
  std::string joined;
  for (const std::string& part : parts) absl::StrAppend(&joined, joined.empty() ? "" : ",", part);
  return joined.empty() ? "" : absl::StrCat("{", joined, "}");
}

void Header(absl::string_view name, absl::string_view type, absl::string_view help,
            std::string* out) {
  absl::StrAppend(out, "# TYPE ", name, " ", type, "\n# HELP ", name, " ", Escaped(help), "\n");
}

void WriteHistogram(const prometheus::MetricFamily& family, std::string* out) {
  Header(family.name, "histogram", family.help, out);
  for (const auto& metric : family.metric) {
    for (const auto& bucket : metric.histogram.bucket) {
      absl::StrAppend(out, family.name, "_bucket", Labels(metric.label, Bound(bucket.upper_bound)),
                      " ", bucket.cumulative_count, "\n");
    }
    const std::string labels = Labels(metric.label);
    absl::StrAppend(out, family.name, "_count", labels, " ", metric.histogram.sample_count, "\n",
                    family.name, "_sum", labels, " ", Number(metric.histogram.sample_sum), "\n");
  }
}

}  // namespace

std::string OpenMetricsText(absl::Span<const prometheus::MetricFamily> families) {
  std::string out;
  for (const prometheus::MetricFamily& family : families) {
    const absl::string_view name = family.name;
    if (family.type == prometheus::MetricType::Counter) {
      const absl::string_view base = absl::StripSuffix(name, "_total");
      Header(base, "counter", family.help, &out);
      for (const auto& metric : family.metric) {
        absl::StrAppend(&out, base, "_total", Labels(metric.label), " ",
                        Number(metric.counter.value), "\n");
      }
    } else if (family.type == prometheus::MetricType::Gauge) {
      // What is always 1 for the sake of its labels has a type of its own here.
      const bool info = absl::EndsWith(name, "_info");
      Header(info ? absl::StripSuffix(name, "_info") : name, info ? "info" : "gauge", family.help,
             &out);
      for (const auto& metric : family.metric) {
        absl::StrAppend(&out, name, Labels(metric.label), " ", Number(metric.gauge.value), "\n");
      }
    } else if (family.type == prometheus::MetricType::Histogram) {
      WriteHistogram(family, &out);
    }
  }
  return out + "# EOF\n";
}

}  // namespace gg
