// SPDX-License-Identifier: Apache-2.0
//
// The composition root of gg-worker: makes the parts, connects them, and takes them down in reverse
// order. Thread-safety: Run belongs to main(); RequestExit may be called from any thread.
#ifndef GOSSIPGRAD_WORKER_DAEMON_WORKER_DAEMON_H_
#define GOSSIPGRAD_WORKER_DAEMON_WORKER_DAEMON_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/daemon/flags.h"

namespace gg {

// What the process tells its supervisor.
enum WorkerExit : int {
  kExitBadConfig = 64,      // do not retry
  kExitNoCoordinator = 69,  // retry
  kExitBug = 70,            // do not retry
  kExitTemporary = 75,      // retry
  kExitPermission = 77,     // do not retry
  kExitNoDevice = 78,       // do not retry on this machine
  kExitSignal = 128,        // plus the signal's number
};

class WorkerDaemon {
 public:
  virtual ~WorkerDaemon() = default;

  // Everything listens and the search for the coordinator is on when this returns. On an error
  // `exit_code` says how the process should end.
  static absl::StatusOr<std::unique_ptr<WorkerDaemon>> Start(const WorkerFlags& flags,
                                                             int& exit_code);

  // Serves until somebody requests the exit; returns its code. Ends within three seconds of the
  // request: if the job does not, by ending the process.
  virtual int Run() = 0;

  // The first request counts.
  virtual void RequestExit(int code, std::string reason) = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DAEMON_WORKER_DAEMON_H_
