// SPDX-License-Identifier: Apache-2.0
//
// Child processes that cannot outlive this one.
// Thread-safety: call from the main thread: a child dies with the thread that spawned it.
#ifndef GOSSIPGRAD_GGCTL_CLUSTER_CHILD_PROCESS_H_
#define GOSSIPGRAD_GGCTL_CLUSTER_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gg {

struct SpawnOptions {
  std::vector<std::string> argv;         // argv[0] is the path of the program
  std::vector<std::string> environment;  // "NAME=value", on top of this process's environment
  std::string log_path;                  // standard output and error are appended to it
};

// Forks and executes: own process group, SIGKILL when this process ends, no inherited descriptors,
// standard input from /dev/null, default signal mask. kNotFound / kPermissionDenied / kUnavailable
// when it cannot be started.
absl::StatusOr<pid_t> Spawn(const SpawnOptions& options);

// How a process ended.
struct ChildExit {
  bool signalled = false;
  int code = 0;  // exit code, or the number of the signal
  // "exited with code 70", "was killed by signal 9 (Killed)".
  std::string ToString() const;
};

// Without waiting; nothing while it runs.
std::optional<ChildExit> TryReap(pid_t pid);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_CLUSTER_CHILD_PROCESS_H_
