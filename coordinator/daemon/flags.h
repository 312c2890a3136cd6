// SPDX-License-Identifier: Apache-2.0
//
// The command line of gg-coordinator.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_DAEMON_FLAGS_H_
#define GOSSIPGRAD_COORDINATOR_DAEMON_FLAGS_H_

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "telemetry/logging.h"

namespace gg {

// Exit codes of the daemon (sysexits.h where it has one).
inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 64;        // bad flags: do not retry
inline constexpr int kExitUnavailable = 69;  // cannot listen
inline constexpr int kExitBug = 70;
inline constexpr int kExitStore = 73;  // the store cannot be opened

struct Flags {
  std::string listen = "127.0.0.1:7070";  // where ggctl looks when it is told nothing
  std::string http_listen = "127.0.0.1:7071";
  std::string store;  // "" and ":memory:" = in memory
  std::string port_file;
  double lease_seconds = 3;
  double heartbeat_seconds = 0.5;
  double settle_seconds = 2;
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  bool insecure = false;
};

// Nothing more to do: print `text` to stdout (code 0) or stderr and exit.
struct Leave {
  int code = kExitOk;
  std::string text;
};

std::variant<Flags, Leave> ParseFlags(int argc, const char* const* argv);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_DAEMON_FLAGS_H_
