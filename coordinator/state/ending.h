// SPDX-License-Identifier: Apache-2.0
//
// What of a job outlives its end. Much of what a job shows comes from volatile events; the one that
// ends it is durable and carries it all, so that a restarted coordinator shows the same.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_ENDING_H_
#define GOSSIPGRAD_COORDINATOR_STATE_ENDING_H_

#include <string>
#include <vector>

#include "coordinator/state/event.h"

namespace gg {

// Who is to blame, if anybody.
struct Culprit {
  Rank rank = -1;  // -1 = none
  MemberPhase phase = MemberPhase::kFailed;
  std::string reason;
};

// `job` as it is after `events`, of a decision that goes on.
Job JobAfter(const ClusterState& state, const Job& job, const std::vector<Event>& events);

// Fills in what `*ended` keeps of `job`, which is as it was just before; state, time and result of
// `*ended` are set.
void Seal(const Job& job, const Culprit& culprit, event::JobEnded* ended);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_ENDING_H_
