// SPDX-License-Identifier: Apache-2.0
//
// Every metric of every daemon, once: X(Id, name, labels, scope, help).
//   name    in full, in base units
//   labels  the variable labels in the order in which MetricSink takes their values, "a=x|y,b": `a` has the values x and
//           y, those of `b` turn up as they come. Series of known values exist from the start, at 0.
//   scope   where its series live: "job" on a worker, for one job | "worker" | "coordinator" | "both" daemons
// A worker's series also carry `worker`, those of a job `train_job`. No label may be called job, instance, pod, namespace,
// node, container, service or endpoint: those belong to the scraper. No label names a pair of workers.
// To add a metric: one line here and one call to MetricSink. docs/metrics.md is generated from this table.
#ifndef GOSSIPGRAD_CORE_METRICS_CATALOGUE_H_
#define GOSSIPGRAD_CORE_METRICS_CATALOGUE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg {

// clang-format off
#define GG_COUNTERS(X)                                                                                               \
  X(kSteps, "gossipgrad_steps_total", "", "job", "Training steps finished.")                                         \
  X(kSamples, "gossipgrad_samples_total", "", "job", "Training samples used.")                                       \
  X(kStepPhaseSeconds, "gossipgrad_step_phase_seconds_total", "phase=data|forward|backward|optimizer|comm_wait|mix|other", "job", \
    "Wall time of the training loop by phase; the phases add up to the loop's wall time. comm_wait is time that stood still for a partner or neighbour; evaluation is outside the loop.") \
  X(kGossipExchanges, "gossipgrad_gossip_exchanges_total", "result=ok|late|lost", "job",                             \
    "Exchange units due from a partner, by what became of them. ok: received and mixed. late: not there when the deadline of the step was over, or left out because this worker was itself late. lost: the partner could not be reached, or what it sent was refused as damaged or by the guard.") \
  X(kGossipSkipped, "gossipgrad_gossip_skipped_total", "reason=late|lost|corrupt|nonfinite|norm|stale|quarantine|send_pending|send_failed|average", "job", \
    "Parts of the exchange that were left out. late, lost, corrupt: a unit of the partner was not mixed. nonfinite, norm, stale: the guard refused it, because it holds NaN or infinite values, is out of proportion, or too old. quarantine: it was dropped unread, because too many before it were refused. send_pending: a unit was not sent because the partner had not taken the ones before. send_failed: the transport could not deliver a unit. average: a periodic average failed.") \
  X(kGossipMessages, "gossipgrad_gossip_messages_total", "direction=sent|received,transport", "job",                 \
    "Messages of the exchange: sent, handed to the transport; received, taken in from the partner. Those of periodic averages count, those of the closing one do not.") \
  X(kGossipBytes, "gossipgrad_gossip_bytes_total", "direction=sent|received,transport", "job",                       \
    "Payload bytes of the messages in gossipgrad_gossip_messages_total.")                                            \
  X(kTransportBytes, "gossipgrad_transport_bytes_total", "direction=sent|received,transport", "job",                 \
    "Payload bytes of all completed messages between workers: exchange, averages and sample ring. Updated a few times a second.") \
  X(kTransportDropped, "gossipgrad_transport_dropped_total", "reason=stale|checksum", "job",                         \
    "Messages dropped on receipt. stale: of another view, given up, or of a step that is over. checksum: damaged on the way.") \
  X(kNonFinite, "gossipgrad_nonfinite_total", "kind=loss|exchange|weights", "job",                                   \
    "NaN or infinite values where finite ones were due: in the loss, in a unit of a partner, in the final weights.") \
  X(kTradedSamples, "gossipgrad_traded_samples_total", "direction=sent|received", "job",                             \
    "Samples handed to or taken from a neighbour on the sample ring.")                                               \
  X(kTradesLate, "gossipgrad_trades_late_total", "", "job", "Sample trades that had not arrived when they were due.") \
  X(kDataStallSeconds, "gossipgrad_data_stall_seconds_total", "", "job", "Time the training loop waited for its next batch.") \
  X(kJobsFinished, "gossipgrad_jobs_finished_total", "state=succeeded|failed|cancelled", "coordinator", "Jobs that ended, by state.") \
  X(kLeasesExpired, "gossipgrad_leases_expired_total", "", "coordinator", "Workers given up because their lease ran out.") \
  X(kGrpcHandled, "grpc_server_handled_total", "grpc_service,grpc_method,grpc_code", "coordinator",                  \
    "RPCs completed on the server, whatever their outcome; a stream counts when it ends.")                           \
  X(kLogMessages, "gossipgrad_log_messages_total", "level=debug|info|warning|error", "both", "Log lines written, by level.")

#define GG_GAUGES(X)                                                                                                 \
  X(kLoss, "gossipgrad_loss", "", "job", "Training loss of the last step (mean over its batch).")                    \
  X(kLearningRate, "gossipgrad_learning_rate", "", "job", "Learning rate of the last step.")                         \
  X(kGradNorm, "gossipgrad_grad_norm", "", "job",                                                                    \
    "Euclidean norm of the last gradient of all parameters; measured in the first and every 20th step.")             \
  X(kParamNorm, "gossipgrad_param_norm", "", "job",                                                                  \
    "Euclidean norm of all parameters; measured in the first and every 20th step.")                                  \
  X(kUpdateRatio, "gossipgrad_update_to_param_ratio", "", "job",                                                     \
    "Norm of the optimizer's last update (with momentum and rate) over the norm of the parameters; measured in the first and every 20th step.") \
  X(kEpoch, "gossipgrad_epoch", "", "job", "Epochs of the data finished, with the fraction of the current one.")     \
  X(kRank, "gossipgrad_rank", "", "job", "Rank of the worker in its view, from 0.")                                  \
  X(kGossipPartnerDistance, "gossipgrad_gossip_partner_distance", "", "job",                                         \
    "Norm of own minus partner's weights (gradients where those are exchanged), measured in every 10th exchange. Asynchronous easgd: distance between models that are as far from their mean as the measured one, scaled from its strip, is from the centre.")   \
  X(kGossipRound, "gossipgrad_gossip_round", "", "job",                                                              \
    "Rounds of the partner schedule begun; a round has ceil(log2 workers) steps.")                                   \
  X(kGossipRotation, "gossipgrad_gossip_rotation", "", "job",                                                        \
    "Number of the permutation of ranks in force; 0 is the identity, and all there is without rotation.")            \
  X(kGossipStaleness, "gossipgrad_gossip_staleness_steps", "", "job",                                                \
    "Own steps between taking the snapshot that the partner's was matched with and mixing the two, at the last mix: 0, or 1 with overlap `step`.") \
  X(kGossipQuarantined, "gossipgrad_gossip_quarantined_peers", "", "job",                                            \
    "Workers whose messages this one drops unread for a while, because it had to refuse several in a row.")          \
  X(kDataQueueDepth, "gossipgrad_data_queue_depth", "", "job",                                                       \
    "Batches that lay ready when the last step asked for its own: 0, the step waited; 1, it did not.")               \
  X(kTestAccuracy, "gossipgrad_test_accuracy_ratio", "", "job", "Share of test samples classified right at the last evaluation.") \
  X(kCoordinatorConnected, "gossipgrad_coordinator_connected", "", "worker", "1 while the control stream stands, else 0.") \
  X(kWorkerInfo, "gossipgrad_worker_info", "version,device,transport,host", "worker",                                \
    "Always 1; its labels say what the worker is, to be joined with `group_left` on `worker`.")                      \
  X(kMembershipEpoch, "gossipgrad_membership_epoch", "", "both",                                                     \
    "Number of the last view; a view is one agreed membership. On a worker that of its job. No relation to epochs of the data.") \
  X(kJobs, "gossipgrad_jobs", "state", "coordinator", "Jobs on record, by state.")                                   \
  X(kJobState, "gossipgrad_job_state", "train_job,state", "coordinator", "1 for the state that the job is in, 0 for the others.") \
  X(kJobInfo, "gossipgrad_job_info", "train_job,job_id,seed,model,algorithm,schedule,payload,overlap", "coordinator", \
    "Always 1; its labels say what the job is, to be joined with `group_left` on `train_job`. Of jobs with one name the newest.") \
  X(kJobProgress, "gossipgrad_job_progress_ratio", "train_job", "coordinator", "Share of the job's steps that its slowest worker has done.") \
  X(kJobCompletion, "gossipgrad_job_estimated_completion_timestamp_seconds", "train_job", "coordinator",             \
    "When the job's last step is expected, from the mean pace so far; only while the job runs and has a pace.")      \
  X(kJobQueueWait, "gossipgrad_job_queue_wait_seconds", "train_job", "coordinator",                                  \
    "Time from submission until the job got its workers or ended without; grows while the job waits.")               \
  X(kConsensusDistance, "gossipgrad_consensus_distance", "train_job", "coordinator",                                 \
    "Root mean square distance of the replicas' weights from their mean. While the job runs an estimate from the distances between partners before they mix (their root mean square times the square root of (p - 1) / (2 p) for p workers, or groups with schedule hierarchical), for jobs that exchange weights; at the end the exact value, if the job took its closing average.") \
  X(kStragglerScore, "gossipgrad_straggler_score", "train_job,worker", "coordinator",                                \
    "The worker's own time per sample, waiting for partners taken out, over the median of its job's workers; 1 is ordinary, 2 half as fast. Only while the job runs.") \
  X(kWorkers, "gossipgrad_workers", "state", "coordinator", "Registered workers by state.")                          \
  X(kHeartbeatAge, "gossipgrad_heartbeat_age_seconds", "", "coordinator", "Age of the oldest heartbeat among the registered workers.") \
  X(kStoreBytes, "gossipgrad_store_bytes", "", "coordinator", "Size of the coordinator's store.")

#define GG_HISTOGRAMS(X)                                                                                             \
  X(kStepDuration, "gossipgrad_step_duration_seconds", "", "job", "Wall time of one training step.")                 \
  X(kExchangeDuration, "gossipgrad_gossip_exchange_duration_seconds", "", "job",                                     \
    "Time from sending a unit to having the partner's mixed, most of it overlapped with computing.")                 \
  X(kMessageAge, "gossipgrad_gossip_message_age_steps", "", "job",                                                   \
    "Own steps since the partner's message was made, at each unit mixed.")                                           \
  X(kStoreCommit, "gossipgrad_store_commit_duration_seconds", "", "coordinator", "Time of one durable write to the store.") \
  X(kGrpcHandling, "grpc_server_handling_seconds", "grpc_service,grpc_method", "coordinator",                        \
    "Time from the arrival of an RPC to its status; for a stream, how long it stood.")
// clang-format on

#define GG_METRIC_ID_(id, ...) id,
enum class CounterId { GG_COUNTERS(GG_METRIC_ID_) };
enum class GaugeId { GG_GAUGES(GG_METRIC_ID_) };
enum class HistogramId { GG_HISTOGRAMS(GG_METRIC_ID_) };
#undef GG_METRIC_ID_

struct MetricInfo {
  absl::string_view name;
  absl::string_view labels;  // as in the table; "" = none
  absl::string_view scope;   // job | worker | coordinator | both
  absl::string_view help;
};

// Indexed by the enum's value. Static storage.
absl::Span<const MetricInfo> CounterInfos();
absl::Span<const MetricInfo> GaugeInfos();
absl::Span<const MetricInfo> HistogramInfos();

struct LabelInfo {
  std::string name;
  std::vector<std::string> values;  // empty: they turn up as they come
};

// The variable labels of a metric, in their order.
std::vector<LabelInfo> LabelsOf(const MetricInfo& info);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_METRICS_CATALOGUE_H_
