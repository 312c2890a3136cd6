// SPDX-License-Identifier: Apache-2.0
//
// The catalogue of metrics as a page for people: what docs/metrics.md holds.
// Thread-safety: a pure function.
#ifndef GOSSIPGRAD_TELEMETRY_METRICS_MARKDOWN_H_
#define GOSSIPGRAD_TELEMETRY_METRICS_MARKDOWN_H_

#include <string>

namespace gg {

// Series of a worker's page while it runs a job, everything included. More than this is a fault: at a
// thousand workers each further series is a thousand more for Prometheus.
inline constexpr int kWorkerSeriesBudget = 96;

std::string MetricsMarkdown();

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_METRICS_MARKDOWN_H_
