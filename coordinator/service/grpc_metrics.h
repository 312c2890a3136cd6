// SPDX-License-Identifier: Apache-2.0
//
// Counts and times every RPC of a server, unary and streaming, health checks and reflection included,
// under the names that dashboards of other gRPC servers use: grpc_server_handled_total and
// grpc_server_handling_seconds. Calls of methods that nobody serves count under the method `unknown`:
// their names are the client's, and would be series without end. Codes are spelt as Go's gRPC does ("OK", "NotFound").
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_GRPC_METRICS_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_GRPC_METRICS_H_

#include <grpcpp/server_builder.h>

#include <string>

#include "core/clock.h"
#include "core/metrics/sink.h"

namespace gg {

// To be called before the server is built; the other arguments must outlive the server. The methods
// of our own services are shown from the start.
void CountRpcs(grpc::ServerBuilder* builder, MetricSink* metrics, Clock* clock);

std::string GoCodeName(grpc::StatusCode code);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_GRPC_METRICS_H_
