// SPDX-License-Identifier: Apache-2.0
#include "core/metrics/catalogue.h"

#include "core/metrics/sink.h"

namespace gg {
namespace {

#define GG_METRIC_INFO_(id, name, help, label, side) {"gossipgrad_" name, help, label, side},
constexpr MetricInfo kCounters[] = {GG_COUNTERS(GG_METRIC_INFO_)};
constexpr MetricInfo kGauges[] = {GG_GAUGES(GG_METRIC_INFO_)};
constexpr MetricInfo kHistograms[] = {GG_HISTOGRAMS(GG_METRIC_INFO_)};
#undef GG_METRIC_INFO_

class NullSink final : public MetricSink {
 public:
  void Add(CounterId, double, absl::string_view) override {}
  void Set(GaugeId, double, absl::string_view) override {}
  void Observe(HistogramId, double, absl::string_view) override {}
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

MetricSink& NullMetricSink() {
  static MetricSink& sink = *new NullSink;
  return sink;
}

}  // namespace gg
