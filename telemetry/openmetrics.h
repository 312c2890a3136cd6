// SPDX-License-Identifier: Apache-2.0
//
// Writes collected families in OpenMetrics 1.0, which the Prometheus library of this system cannot.
// Source: https://prometheus.io/docs/specs/om/open_metrics_spec/. Used inside this folder only.
// Thread-safety: a pure function.
#ifndef GOSSIPGRAD_TELEMETRY_OPENMETRICS_H_
#define GOSSIPGRAD_TELEMETRY_OPENMETRICS_H_

#include <prometheus/metric_family.h>

#include <string>

#include "absl/types/span.h"

namespace gg {

// Counters, gauges and histograms; families of other types are left out. The names of counters end in
// `_total`, which their family's name then lacks. Ends with "# EOF".
std::string OpenMetricsText(absl::Span<const prometheus::MetricFamily> families);

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_OPENMETRICS_H_
