// SPDX-License-Identifier: Apache-2.0
//
// What every verb works with: the two output streams, the terminals behind them, and the
// coordinator. Data goes to `out` and nothing else does; progress, hints, warnings and errors go to
// `err`. What job files, coordinators and workers wrote reaches a terminal through Print, Fail, Warn
// and Hint alone (or Printable), which take control characters out of it. Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_GGCTL_SESSION_H_
#define GOSSIPGRAD_GGCTL_SESSION_H_

#include <cstddef>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ggctl/client.h"
#include "ggctl/exit_code.h"
#include "ggctl/terminal.h"

namespace gg {

inline constexpr char kDefaultServer[] = "127.0.0.1:7070";
// Nobody reads on, and a list of thousands hides the first.
inline constexpr size_t kMostProblemsShown = 50;

struct Session {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  Terminal out_terminal;
  Terminal err_terminal;
  std::string server = kDefaultServer;
  absl::Duration request_timeout = absl::Seconds(10);

  JobClient Client() const { return JobClient(server, request_timeout); }

  // "error: ..." with the field violations of the server, if any, one a line; returns the exit
  // code.
  ExitCode Fail(const absl::Status& status);
  ExitCode Fail(ExitCode code, const std::string& message);
  // The same for a call about the job `name`: an unknown one gets a "did you mean".
  ExitCode FailForJob(JobClient* client, const std::string& name, const absl::Status& status);
  void Warn(const std::string& message);
  void Hint(const std::string& message);
  // "... and 7 more" after a list of `count` problems that was cut.
  void HintMore(size_t count);
  // Data for people; documents for programs are written to `out` as they are.
  void Print(const std::string& text);
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_SESSION_H_
