// SPDX-License-Identifier: Apache-2.0
//
// State of the coordinator as users see it, and its commands as workers see them.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_WIRE_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_WIRE_H_

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/state/cluster_state.h"
#include "coordinator/state/command.h"
#include "coordinator/state/input.h"
#include "core/spec/validate.h"
#include "gossipgrad/v1/job_service.pb.h"
#include "gossipgrad/v1/worker_control.pb.h"

namespace gg {

enum class History { kWith, kWithout };
gossipgrad::v1::Job JobToWire(const ClusterState& state, const Job& job, History history);
// All registered workers, in the order of their registration.
std::vector<gossipgrad::v1::WorkerStatus> WorkersToWire(const ClusterState& state);
// "idle", or the phase in its job.
absl::string_view StateOf(const ClusterState& state, const Worker& worker);

// `body` is Assign, Begin or Stop; the other two need the loop's knowledge.
gossipgrad::v1::CoordinatorMessage ToWire(const command::Assign& body);
gossipgrad::v1::CoordinatorMessage ToWire(const command::Begin& body);
gossipgrad::v1::CoordinatorMessage ToWire(const command::Stop& body);

WorkerInfo FromWire(const gossipgrad::v1::Register& message);
// Everything but Register. kInvalidArgument: an empty message.
absl::StatusOr<Input> FromWire(const gossipgrad::v1::WorkerMessage& message,
                               const input::Speaker& from);

// As many as fit into trailing metadata.
gossipgrad::v1::FieldViolations ToWire(const std::vector<FieldError>& errors);
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_WIRE_H_
