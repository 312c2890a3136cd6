// SPDX-License-Identifier: Apache-2.0
//
// A real gg-coordinator as a child process; dies with the test.
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_TESTS_UNIT_COORDINATOR_DAEMON_COORDINATOR_PROCESS_H_
#define GOSSIPGRAD_TESTS_UNIT_COORDINATOR_DAEMON_COORDINATOR_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace gg {

class CoordinatorProcess {
 public:
  // Starts it with `args` and its files in `folder`.
  CoordinatorProcess(const std::string& folder, std::vector<std::string> args);
  ~CoordinatorProcess();
  CoordinatorProcess(const CoordinatorProcess&) = delete;
  CoordinatorProcess& operator=(const CoordinatorProcess&) = delete;

  // Waits until it serves; false when it ended, or after half a minute.
  bool WaitUntilServing();
  const std::string& grpc() const { return grpc_; }
  const std::string& http() const { return http_; }

  void Signal(int number);
  // Exit code, or 128 + signal; kills it after half a minute and gives -1.
  int WaitForExit();
  // What it wrote to stderr.
  std::string Log() const;
  // Status line and body of GET `path`.
  std::string HttpGet(const std::string& path) const;

 private:
  bool Ended();

  const std::string port_file_, log_file_;
  std::string grpc_, http_;
  pid_t pid_ = -1;
  int code_ = -1;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_COORDINATOR_DAEMON_COORDINATOR_PROCESS_H_
