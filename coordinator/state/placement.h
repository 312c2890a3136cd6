// SPDX-License-Identifier: Apache-2.0
//
// Gang start: which waiting job gets which idle workers. First come, first served: a job takes
// workers of one transport, all at once or none, the earliest registered first (rank 0 is the
// earliest). A job that waits keeps later jobs away from the workers that it could use - unless fewer
// than it needs are registered with that transport, busy ones included, and nobody new has come
// within the settle window: then it may never start, and later jobs go first until enough are there.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_PLACEMENT_H_
#define GOSSIPGRAD_COORDINATOR_STATE_PLACEMENT_H_

#include "absl/time/time.h"
#include "coordinator/state/decide.h"

namespace gg {

// Part of Tick: starts one job, or says why waiting jobs wait where that has changed.
Decision Place(const ClusterState& state, absl::Time now);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_PLACEMENT_H_
