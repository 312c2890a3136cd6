// SPDX-License-Identifier: Apache-2.0
//
// What a decision tells the shell to do, after its events are durable. All of it is addressed to a
// control stream. Thread-safety: values.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_COMMAND_H_
#define GOSSIPGRAD_COORDINATOR_STATE_COMMAND_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "core/ids.h"
#include "core/spec/job_spec.h"

namespace gg::command {

struct Welcome {};
struct Assign {
  std::string job_id;
  JobSpec spec;
  View view;
  Rank rank = 0;
};
struct Begin {
  std::string job_id;
  uint64_t view = 0;
};
struct Stop {
  std::string job_id;
  std::string reason;
};
// End the stream.
struct HangUp {
  absl::Status why;
};

}  // namespace gg::command

namespace gg {

struct Command {
  uint64_t session = 0;
  std::string worker_id;
  std::variant<command::Welcome, command::Assign, command::Begin, command::Stop, command::HangUp>
      body;
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_COMMAND_H_
