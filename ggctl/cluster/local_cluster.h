// SPDX-License-Identifier: Apache-2.0
//
// A whole cluster on this machine: one gg-coordinator and N gg-workers as children, on loopback
// ports that the kernel chooses.
//   LocalCluster::Prepare -> StartCoordinator -> StartWorkers -> Reap ... -> Stop
// Every wait goes through Signals, so that Ctrl-C and the death of a child are seen at once.
// Thread-safety: thread-compatible, main thread only.
#ifndef GOSSIPGRAD_GGCTL_CLUSTER_LOCAL_CLUSTER_H_
#define GOSSIPGRAD_GGCTL_CLUSTER_LOCAL_CLUSTER_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ggctl/cluster/child_process.h"
#include "ggctl/cluster/signals.h"
#include "ggctl/cluster/temp_folder.h"

namespace gg {

struct LocalClusterOptions {
  std::string bin_folder;  // holds gg-coordinator and gg-worker; "" = beside this executable
  std::string log_folder;  // "" = inside the private folder
  bool keep_logs = false;  // leave the private folder behind
  int workers = 1;
  int threads = 0;  // compute threads of a worker; 0 = its share of the CPUs this process may use
  // Labels of all workers, in order, by the name of the label; each has one per worker.
  std::map<std::string, std::vector<std::string>> topology;
  double lease_seconds =
      5;  // a frozen worker is reported within ten seconds, a starved one is not given up
  double heartbeat_seconds = 0.5;
};

struct LocalProcess {
  std::string name;  // "coordinator", "worker-0"
  pid_t pid = -1;
  std::string log_path;
  std::optional<ChildExit> exit;  // set once reaped
  // "worker-0 (pid 4711) was killed by signal 9 (Killed)"; of a living one "worker-0 (pid 4711)".
  std::string ToString() const;
};

class LocalCluster {
 public:
  // Finds the programs (kNotFound names the folder) and makes the private folder.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Prepare(const LocalClusterOptions& options,
                                                               Signals* signals);
  ~LocalCluster();  // kills what still runs
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // Returns when it listens. kCancelled: interrupted by a signal; kUnavailable: it died;
  // kDeadlineExceeded.
  absl::Status StartCoordinator(absl::Duration timeout);
  absl::Status StartWorkers();

  const std::string& address() const { return address_; }  // of the coordinator's gRPC service
  int threads() const { return threads_; }
  const std::string& folder() const { return folder_->path(); }

  // Collects children that have ended since the last call, in the order of starting.
  std::vector<const LocalProcess*> Reap();
  bool coordinator_runs() const;
  const std::vector<std::unique_ptr<LocalProcess>>& processes() const { return processes_; }

  // SIGTERM to all, SIGKILL to those that are still there after `grace` or at a second interrupt.
  // Returns when all are gone.
  void Stop(absl::Duration grace);

 private:
  LocalCluster(const LocalClusterOptions& options, Signals* signals)
      : options_(options), signals_(signals) {}
  absl::Status StartProcess(const std::string& name, std::vector<std::string> argv,
                            std::vector<std::string> environment);
  std::string ProgramPath(const char* program) const;
  bool AnyRuns() const;
  void SignalAll(int signal);

  const LocalClusterOptions options_;
  Signals* const signals_;
  std::unique_ptr<TempFolder> folder_;
  std::string bin_folder_;
  std::string log_folder_;
  std::string address_;
  int threads_ = 1;
  std::vector<std::unique_ptr<LocalProcess>> processes_;
};

// The last lines of a log, at most `lines`, without ever reading more than its last 16 KiB.
std::vector<std::string> LogTail(const std::string& path, size_t lines);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_CLUSTER_LOCAL_CLUSTER_H_
