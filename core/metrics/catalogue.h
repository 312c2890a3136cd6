// SPDX-License-Identifier: Apache-2.0
//
// Every metric of every daemon, once: X(Id, name, help, label, side). Names carry the prefix `gossipgrad_` and a base
// unit; `label` is the one variable label of the metric or "". The series also carry `train_job` (and on workers
// `worker`) where the daemon sets them; never `job`, `instance` or `pod`, which belong to the scraper.
// To add a metric: one line here and one call to MetricSink. docs/metrics.md is generated from this table.
#ifndef GOSSIPGRAD_CORE_METRICS_CATALOGUE_H_
#define GOSSIPGRAD_CORE_METRICS_CATALOGUE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg {

// clang-format off
#define GG_COUNTERS(X)                                                                                               \
  X(kSteps, "steps_total", "Training steps finished.", "", "worker")                                                 \
  X(kSamples, "samples_total", "Training samples used.", "", "worker")                                               \
  X(kStepPhaseSeconds, "step_phase_seconds_total", "Wall time of the training loop by phase; the phases add up to the loop's wall time.", "phase", "worker") \
  X(kGossipExchanges, "gossip_exchanges_total", "Exchanges with a partner by result (ok, late, lost).", "result", "worker") \
  X(kGossipSkipped, "gossip_skipped_total", "Exchange units that a step did without, by reason.", "reason", "worker") \
  X(kGossipMessages, "gossip_messages_total", "Messages handed to the transport for the exchange, by direction.", "direction", "worker") \
  X(kGossipBytes, "gossip_bytes_total", "Payload bytes of the exchange, by direction.", "direction", "worker")       \
  X(kTransportBytes, "transport_bytes_total", "Payload bytes of all traffic between workers, by transport and direction.", "path", "worker") \
  X(kTransportDropped, "transport_dropped_total", "Messages dropped on receipt, by reason (stale, checksum, overflow).", "reason", "worker") \
  X(kNonFinite, "nonfinite_total", "Values that were NaN or infinite where a finite one was due, by kind.", "kind", "worker") \
  X(kTradedSamples, "traded_samples_total", "Samples handed to or taken from a neighbour, by direction.", "direction", "worker") \
  X(kTradesLate, "trades_late_total", "Sample trades that had not arrived when they were due.", "", "worker")        \
  X(kDataStallSeconds, "data_stall_seconds_total", "Time the training loop waited for its next batch.", "", "worker") \
  X(kJobsFinished, "jobs_finished_total", "Jobs that ended, by state.", "state", "coordinator")                      \
  X(kLeasesExpired, "leases_expired_total", "Workers given up because their lease ran out.", "", "coordinator")      \
  X(kGrpcHandled, "grpc_handled_total", "RPCs finished on the coordinator, by method and code.", "method_code", "coordinator") \
  X(kLogMessages, "log_messages_total", "Log lines by level.", "level", "both")

#define GG_GAUGES(X)                                                                                                 \
  X(kLoss, "loss", "Training loss of the last step (mean over its batch).", "", "worker")                            \
  X(kLearningRate, "learning_rate", "Learning rate of the last step.", "", "worker")                           \
  X(kEpoch, "epoch", "Epochs finished, with the fraction of the current one.", "", "worker")                         \
  X(kRank, "rank", "Rank inside the view, -1 when in none.", "", "worker")                                           \
  X(kViewNumber, "view_number", "Number of the view in force.", "", "both")                                          \
  X(kGossipPartnerDistance, "gossip_partner_distance", "Norm of own minus partner's payload at the last exchange.", "", "worker") \
  X(kGossipRound, "gossip_round", "Rounds of the partner schedule begun.", "", "worker")                             \
  X(kTestAccuracy, "test_accuracy_ratio", "Share of test samples classified right at the last evaluation.", "", "worker") \
  X(kCoordinatorConnected, "coordinator_connected", "1 while the control stream stands.", "", "worker")              \
  X(kJobs, "jobs", "Jobs by state.", "state", "coordinator")                                                         \
  X(kWorkers, "workers", "Registered workers by state.", "state", "coordinator")                                     \
  X(kJobProgress, "job_progress_ratio", "Share of the job's steps done.", "train_job", "coordinator")                \
  X(kHeartbeatAge, "heartbeat_age_seconds", "Age of the oldest heartbeat among live workers.", "", "coordinator")    \
  X(kStoreBytes, "store_bytes", "Size of the coordinator's store.", "", "coordinator")

#define GG_HISTOGRAMS(X)                                                                                             \
  X(kStepDuration, "step_duration_seconds", "Wall time of one training step.", "", "worker")                        \
  X(kExchangeDuration, "gossip_exchange_duration_seconds", "Time from posting an exchange to having it mixed.", "", "worker") \
  X(kExchangeWait, "gossip_wait_seconds", "Time a step stood still for its partner.", "", "worker")                  \
  X(kStoreCommit, "store_commit_duration_seconds", "Time of one durable write to the store.", "", "coordinator")
// clang-format on

#define GG_METRIC_ID_(id, ...) id,
enum class CounterId { GG_COUNTERS(GG_METRIC_ID_) };
enum class GaugeId { GG_GAUGES(GG_METRIC_ID_) };
enum class HistogramId { GG_HISTOGRAMS(GG_METRIC_ID_) };
#undef GG_METRIC_ID_

struct MetricInfo {
  absl::string_view name;  // with the prefix gossipgrad_
  absl::string_view help;
  absl::string_view label;  // "" = none
  absl::string_view side;   // worker | coordinator | both
};

// Indexed by the enum's value. Static storage.
absl::Span<const MetricInfo> CounterInfos();
absl::Span<const MetricInfo> GaugeInfos();
absl::Span<const MetricInfo> HistogramInfos();

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_METRICS_CATALOGUE_H_
