// SPDX-License-Identifier: Apache-2.0
//
// gRPC's own log lines through the daemon's logger: one line each in the daemon's format, counted
// by level, with the fields `source` (grpc) and `at` (file:line in gRPC). Which of them gRPC writes
// at all is its own business (GRPC_VERBOSITY; errors only by default).
//
// gRPC knows one log per process, so at most one of these lives at a time; a second one takes over.
// Without one, lines go to stderr in gRPC's format. Thread-safety: thread-safe; lines come from any
// of gRPC's threads.
#ifndef GOSSIPGRAD_TELEMETRY_GRPC_GRPC_LOG_H_
#define GOSSIPGRAD_TELEMETRY_GRPC_GRPC_LOG_H_

#include <memory>

#include "telemetry/logging.h"

namespace gg {

class GrpcLog {
 public:
  virtual ~GrpcLog() = default;  // waits for lines that are being written
  // `log` must outlive the result.
  static std::unique_ptr<GrpcLog> RouteTo(Logger& log);
};

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_GRPC_GRPC_LOG_H_
