// SPDX-License-Identifier: Apache-2.0
//
// The MetricSink of the daemons: the series of core/metrics/catalogue.h that concern one side, kept
// in a Prometheus registry and written out as text, together with gossipgrad_build_info and the
// standard process_* metrics.
//
// Two kinds of series. Those of the process live as long as it does. Those of a job (scope "job")
// carry `train_job` and appear with BeginJob(), counters and histograms at 0. After EndJob() they
// keep their last values until kSeriesOutliveJob has passed and they have been on a page since, so
// that a scraper sees them, and are then gone; earlier when the next job ends or a job of the same
// name begins. So a page holds the series of two jobs at most, however many a worker serves.
// Numbers that arrive for a job's series while there is no job are dropped.
//
// A label value that the catalogue does not know counts as `unknown` where it lists the values: the
// number of series is bounded by the table. Thread-safety: thread-safe. Never blocks on I/O.
#ifndef GOSSIPGRAD_TELEMETRY_PROMETHEUS_SINK_H_
#define GOSSIPGRAD_TELEMETRY_PROMETHEUS_SINK_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "telemetry/metrics_format.h"

namespace gg {

enum class MetricSide { kWorker, kCoordinator };

// Twice the longest interval at which Prometheus is usually made to scrape.
inline constexpr absl::Duration kSeriesOutliveJob = absl::Minutes(2);

class PrometheusSink : public MetricSink {
 public:
  // `worker` is the value of the label of that name on a worker's series; leave it empty on the
  // coordinator. `clock` must outlive the sink.
  static std::unique_ptr<PrometheusSink> Make(MetricSide side, absl::string_view worker = "",
                                              Clock& clock = RealClock());

  virtual void BeginJob(absl::string_view train_job) = 0;
  virtual void EndJob() = 0;

  // All series as the body of /metrics.
  virtual std::string Text(MetricsFormat format = MetricsFormat::kText) = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_PROMETHEUS_SINK_H_
