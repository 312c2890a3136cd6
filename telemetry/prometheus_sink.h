// SPDX-License-Identifier: Apache-2.0
//
// The MetricSink of the daemons: the series of core/metrics/catalogue.h that concern one side, kept
// in a Prometheus registry and written out as text (format 0.0.4), together with
// gossipgrad_build_info and the standard process_* metrics.
//
// Two kinds of series. Those of the process live as long as it does. Those of a job (on workers
// everything that belongs to side "worker", except the state of the control stream) carry
// `train_job`, appear at 0 with BeginJob(), and go away with EndJob() or the next BeginJob():
// however many jobs a worker serves, the number of its series stays the same. Numbers that arrive
// for a job's series while there is no job are dropped. Thread-safety: thread-safe. Never blocks on
// I/O.
#ifndef GOSSIPGRAD_TELEMETRY_PROMETHEUS_SINK_H_
#define GOSSIPGRAD_TELEMETRY_PROMETHEUS_SINK_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "core/metrics/sink.h"

namespace gg {

enum class MetricSide { kWorker, kCoordinator };

class PrometheusSink : public MetricSink {
 public:
  // `worker` is the value of the label of that name on a worker's series; leave it empty on the
  // coordinator.
  static std::unique_ptr<PrometheusSink> Make(MetricSide side, absl::string_view worker = "");

  virtual void BeginJob(absl::string_view train_job) = 0;
  virtual void EndJob() = 0;

  // Removes one series of a metric with a variable label, as when a job's record expires. Nothing
  // happens when there is no such series.
  virtual void Forget(GaugeId id, absl::string_view label) = 0;

  // All series as the body of /metrics.
  virtual std::string Text() const = 0;
};

// The catalogue as a Markdown page: what docs/metrics.md holds.
std::string MetricsMarkdown();

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_PROMETHEUS_SINK_H_
