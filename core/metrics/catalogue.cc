// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/catalogue.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "core/metrics/sink.h"

namespace gg {
namespace {

#define GG_METRIC_INFO_(id, name, labels, scope, help) {name, labels, scope, help},
constexpr MetricInfo kCounters[] = {GG_COUNTERS(GG_METRIC_INFO_)};
constexpr MetricInfo kGauges[] = {GG_GAUGES(GG_METRIC_INFO_)};
constexpr MetricInfo kHistograms[] = {GG_HISTOGRAMS(GG_METRIC_INFO_)};
#undef GG_METRIC_INFO_

class NullSink final : public MetricSink {
 public:
  void Add(CounterId, double, LabelValues) override {}
  void Set(GaugeId, double, LabelValues) override {}
  void Observe(HistogramId, double, LabelValues) override {}
};

}  // namespace

absl::Span<const MetricInfo> CounterInfos() {
  return kCounters;
}
absl::Span<const MetricInfo> GaugeInfos() {
  return kGauges;
}
absl::Span<const MetricInfo> HistogramInfos() {
  return kHistograms;
}

std::vector<LabelInfo> LabelsOf(const MetricInfo& info) {
  std::vector<LabelInfo> labels;
  for (const absl::string_view label : absl::StrSplit(info.labels, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(label, absl::MaxSplits('=', 1));
    labels.push_back(
        {std::string(parts.first), absl::StrSplit(parts.second, '|', absl::SkipEmpty())});
  }
  return labels;
}

MetricSink& NullMetricSink() {
  static MetricSink& sink = *new NullSink;
  return sink;
}

}  // namespace gg
