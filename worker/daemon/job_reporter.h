// SPDX-License-Identifier: Apache-2.0
//
// What the trainer reports, as messages to the coordinator, log lines and metrics of the transport.
// Thread-safety: as Reporter; `send` must not block.
#ifndef GOSSIPGRAD_WORKER_DAEMON_JOB_REPORTER_H_
#define GOSSIPGRAD_WORKER_DAEMON_JOB_REPORTER_H_

#include <functional>
#include <string>

#include "core/metrics/sink.h"
#include "gossipgrad/v1/worker_control.pb.h"
#include "telemetry/logging.h"
#include "worker/train/reporter.h"
#include "worker/train/trainer.h"
#include "worker/transport/transport.h"

namespace gg {

struct JobReporterParts {
  std::string job_id;
  uint64_t view = 0;
  std::string transport;       // name
  PeerGroup* group = nullptr;  // may be null
  MetricSink* metrics = nullptr;
  Logger* log = nullptr;
  std::function<void(gossipgrad::v1::WorkerMessage)> send;
};

class JobReporter final : public Reporter {
 public:
  explicit JobReporter(JobReporterParts parts) : p_(std::move(parts)) {}

  void OnProgress(const TrainProgress& progress) override;
  void OnEpoch(const EpochSummary& epoch) override;
  void OnIncident(const PartnerIncident& incident) override;
  void OnRingTrouble(uint64_t step, const absl::Status& why) override;
  void Finished(const TrainingResult& result);

 private:
  void CountTransport();
  // An incident to the coordinator; `partner` may be empty.
  void SendIncident(uint64_t step, const std::string& partner, const std::string& reason,
                    const std::string& detail);

  const JobReporterParts p_;
  PeerStats counted_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DAEMON_JOB_REPORTER_H_
