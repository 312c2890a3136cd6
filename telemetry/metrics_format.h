// SPDX-License-Identifier: Apache-2.0
//
// In which of its two formats a scraper wants /metrics.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_TELEMETRY_METRICS_FORMAT_H_
#define GOSSIPGRAD_TELEMETRY_METRICS_FORMAT_H_

#include "absl/strings/string_view.h"

namespace gg {

enum class MetricsFormat {
  kText,         // Prometheus text 0.0.4
  kOpenMetrics,  // OpenMetrics 1.0
};

// From the value of the request's Accept header (RFC 9110 section 12.5.1; "" = no wish). OpenMetrics
// only for who asks for it by name, in version 1.0.0 or any, and does not prefer plain text.
MetricsFormat NegotiateMetricsFormat(absl::string_view accept);

// The value of Content-Type.
absl::string_view ContentTypeOf(MetricsFormat format);

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_METRICS_FORMAT_H_
