// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's brain: what follows from an input. Pure: no clock, thread, file or network; the
// same state, input and time always give the same decision. The caller's duties, in this order, one
// input at a time:
//   1. Decide.  2. Make the durable events durable.  3. Apply all events in order.  4. Carry out
//   the commands.
//   5. Repeat with Tick until a decision has no events.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_DECIDE_H_
#define GOSSIPGRAD_COORDINATOR_STATE_DECIDE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/state/cluster_state.h"
#include "coordinator/state/command.h"
#include "coordinator/state/event.h"
#include "coordinator/state/input.h"

namespace gg {

struct Decision {
  std::vector<Event> events;
  std::vector<Command> commands;
  std::vector<std::string> log;  // a sentence per change, in their order
  absl::Status status;           // answer to the one who asked (SubmitJob, CancelJob)
  std::string job_id;            // the job that SubmitJob or CancelJob was about
};

// `now` never goes back between calls.
Decision Decide(const ClusterState& state, const Input& input, absl::Time now);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_DECIDE_H_
