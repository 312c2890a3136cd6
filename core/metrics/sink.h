// SPDX-License-Identifier: Apache-2.0
//
// How any folder reports numbers without knowing Prometheus. Ids come from the catalogue (core/metrics/catalogue.h);
// there are no free-form names. Thread-safety: implementations are thread-safe and never block on I/O.
#ifndef GOSSIPGRAD_CORE_METRICS_SINK_H_
#define GOSSIPGRAD_CORE_METRICS_SINK_H_

#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/metrics/catalogue.h"

namespace gg {

// The values of a metric's variable labels in the catalogue's order: nothing, "sent", or {"sent", "grpc"}. A parameter
// type only: it borrows the strings, and lives as long as the call that it is made for.
class LabelValues {
 public:
  LabelValues() = default;
  LabelValues(std::initializer_list<absl::string_view> values)
      : values_(values.begin(), values.size()) {}
  // NOLINTBEGIN(google-explicit-constructor): so that one label needs no braces.
  LabelValues(absl::Span<const absl::string_view> values) : values_(values) {}
  LabelValues(absl::string_view value) : one_(value), is_one_(true) {}
  LabelValues(const char* value) : one_(value), is_one_(true) {}
  LabelValues(const std::string& value) : one_(value), is_one_(true) {}
  // NOLINTEND(google-explicit-constructor)

  absl::Span<const absl::string_view> values() const {
    return is_one_ ? absl::MakeConstSpan(&one_, 1) : values_;
  }

 private:
  absl::string_view one_;
  bool is_one_ = false;
  absl::Span<const absl::string_view> values_;
};

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual void Add(CounterId id, double amount, LabelValues labels = {}) = 0;  // amount >= 0
  virtual void Set(GaugeId id, double value, LabelValues labels = {}) = 0;
  virtual void Observe(HistogramId id, double value, LabelValues labels = {}) = 0;

  // What a gauge told of is no more: drops the series whose labels begin with `labels`. A sink that keeps no series has
  // nothing to do.
  virtual void Forget(GaugeId, LabelValues) {}
};

// Drops everything. Never destroyed.
MetricSink& NullMetricSink();

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_METRICS_SINK_H_
