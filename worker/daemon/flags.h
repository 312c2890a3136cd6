// SPDX-License-Identifier: Apache-2.0
//
// The command line of gg-worker.
// Thread-safety: values.
#ifndef GOSSIPGRAD_WORKER_DAEMON_FLAGS_H_
#define GOSSIPGRAD_WORKER_DAEMON_FLAGS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "telemetry/logging.h"

namespace gg {

struct WorkerFlags {
  std::string coordinator;  // HOST:PORT
  std::string worker_id;    // never empty after ParseWorkerFlags
  std::string listen = "127.0.0.1:0";
  std::string advertise_host;
  std::string http_listen = "127.0.0.1:0";
  int threads = 0;  // > 0 after ParseWorkerFlags
  std::string device = "auto";
  std::string port_file;                        // "" = none
  std::map<std::string, std::string> topology;  // labels beside the host's name
  absl::Duration coordinator_timeout = absl::Seconds(30);
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  bool insecure = false;

  // Set instead of everything else: print this and exit with 0.
  std::string print_and_exit;
};

// kInvalidArgument: what is wrong and what is possible, ready to print.
absl::StatusOr<WorkerFlags> ParseWorkerFlags(int argc, const char* const* argv);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DAEMON_FLAGS_H_
