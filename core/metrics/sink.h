// SPDX-License-Identifier: Apache-2.0
//
// How any folder reports numbers without knowing Prometheus. Ids come from the catalogue (core/metrics/catalogue.h);
// there are no free-form names. `label` is the value of the metric's one variable label ("" where it has none).
// Thread-safety: implementations are thread-safe and never block on I/O.
#ifndef GOSSIPGRAD_CORE_METRICS_SINK_H_
#define GOSSIPGRAD_CORE_METRICS_SINK_H_

#include "absl/strings/string_view.h"
#include "core/metrics/catalogue.h"

namespace gg {

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual void Add(CounterId id, double amount, absl::string_view label = "") = 0;  // amount >= 0
  virtual void Set(GaugeId id, double value, absl::string_view label = "") = 0;
  virtual void Observe(HistogramId id, double value, absl::string_view label = "") = 0;
};

// Drops everything. Never destroyed.
MetricSink& NullMetricSink();

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_METRICS_SINK_H_
