// SPDX-License-Identifier: Apache-2.0
//
// Who is there: registration, leases, departures.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STATE_MEMBERSHIP_H_
#define GOSSIPGRAD_COORDINATOR_STATE_MEMBERSHIP_H_

#include "absl/time/time.h"
#include "coordinator/state/decide.h"

namespace gg {

Decision Register(const ClusterState& state, const input::WorkerRegistered& in, absl::Time now);
Decision Leave(const ClusterState& state, const Worker& worker, const std::string& reason,
               absl::Time now);
Decision Disconnect(const ClusterState& state, const Worker& worker, const std::string& how,
                    absl::Time now);

// Parts of Tick.
Decision ExpireLease(const ClusterState& state, absl::Time now);
Decision ExtendLeases(const ClusterState& state, absl::Duration stalled, absl::Time now);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STATE_MEMBERSHIP_H_
