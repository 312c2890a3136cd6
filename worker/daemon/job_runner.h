// SPDX-License-Identifier: Apache-2.0
//
// Runs one job after the other as the coordinator orders: idle -> preparing -> ready -> running ->
// idle. Orders only leave a note here; the work is done on a thread of its own, which owns data,
// network and links of the job. A job that fails is reported as Failed and forgotten; a job that is
// stopped is forgotten. Thread-safety: thread-safe; the orders never block.
#ifndef GOSSIPGRAD_WORKER_DAEMON_JOB_RUNNER_H_
#define GOSSIPGRAD_WORKER_DAEMON_JOB_RUNNER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "gossipgrad/v1/worker_control.pb.h"
#include "kernels/device.h"
#include "telemetry/logging.h"
#include "telemetry/prometheus_sink.h"
#include "worker/daemon/dataset_cache.h"
#include "worker/train/trainer.h"
#include "worker/transport/transport.h"

namespace gg {

// Borrowed parts must outlive the runner.
struct JobRunnerParts {
  std::string worker_id;
  std::string device_name;         // of `device`
  std::unique_ptr<Device> device;  // for jobs that do not ask for another
  int threads = 1;                 // of `device`
  Transport* transport = nullptr;
  PrometheusSink* metrics = nullptr;
  Logger* log = nullptr;
  Clock* clock = nullptr;
  std::function<void(gossipgrad::v1::WorkerMessage)> send;  // must not block
};

// The job at hand, as the orders see it.
struct CurrentJob {
  std::string job_id;
  uint64_t view = 0;
  bool begun = false;
  bool released = false;  // nobody needs this worker's links any more
  absl::Status stop;      // not OK: end the job, with this reason
  // Ends what the job thread does at the moment; empty while that looks at `stop` by itself. Only
  // leaves notes: it is called under the mutex that keeps its target alive.
  std::function<void(absl::Status)> interrupt;
};

class JobRunner {
 public:
  explicit JobRunner(JobRunnerParts parts);
  ~JobRunner();  // shuts down and waits for the job thread

  // A job that still runs is stopped first.
  void Assign(const gossipgrad::v1::Assign& assign);
  void Begin(const gossipgrad::v1::Begin& begin);
  void Stop(const gossipgrad::v1::Stop& stop);

  // Stops whatever runs and accepts nothing more. False when the job thread has not ended by
  // `deadline`.
  bool Shutdown(const std::string& reason, absl::Time deadline);

 private:
  void Loop();
  void RunJob(const gossipgrad::v1::Assign& assign);
  absl::Status Execute(const gossipgrad::v1::Assign& assign);
  absl::Status Train(const gossipgrad::v1::Assign& assign, const JobSpec& spec, const View& view,
                     Device& device, PeerGroup* group);
  absl::StatusOr<Device*> DeviceFor(const WorkersSpec& spec, std::unique_ptr<Device>& own) const;
  absl::Status WaitForBegin(absl::Duration patience);
  void Linger();
  absl::Status StopReason();
  void SetInterrupt(std::function<void(absl::Status)> interrupt);
  // The batch sizes by rank that the speeds of the workers give. All members have begun.
  absl::StatusOr<std::vector<int64_t>> AgreeOnBatches(const JobSpec& spec, Network& network,
                                                      const Dataset& train, Device& device,
                                                      PeerGroup& group);
  void StopLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);

  const JobRunnerParts parts_;
  DatasetCache datasets_;  // owned by the job thread

  Monitor monitor_;
  std::optional<gossipgrad::v1::Assign> next_ ABSL_GUARDED_BY(monitor_.mu);
  std::optional<CurrentJob> current_ ABSL_GUARDED_BY(monitor_.mu);
  bool shutdown_ ABSL_GUARDED_BY(monitor_.mu) = false;
  bool ended_ ABSL_GUARDED_BY(monitor_.mu) = false;
  std::thread thread_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DAEMON_JOB_RUNNER_H_
