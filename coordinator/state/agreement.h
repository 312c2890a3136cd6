// SPDX-License-Identifier: Apache-2.0
//
// Workers that train together must have prepared the same thing.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_AGREEMENT_H_
#define GOSSIPGRAD_COORDINATOR_STATE_AGREEMENT_H_

#include <string>

#include "coordinator/state/job.h"
#include "core/ids.h"

namespace gg {

struct Disagreement {
  Rank rank = -1;       // the odd one out; -1 = all agree
  std::string message;  // names it, what differs and both values
};

// All members are prepared. The odd one out is the first member that is not with the majority (with
// rank 0's side where there is none).
Disagreement FindDisagreement(const Job& job);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_AGREEMENT_H_
