// SPDX-License-Identifier: Apache-2.0
//
// The coordinator as one object: store, loop and gRPC server with JobService, WorkerControl, health
// ("" and "ready") and reflection. Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_SERVER_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/service/loop.h"
#include "coordinator/store/job_store.h"
#include "core/clock.h"
#include "core/metrics/sink.h"

namespace gg {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // host:port, port 0 lets the kernel choose
  std::string software_version;
  LoopOptions loop;  // on_ready is set by the server
};

class CoordinatorServer {
 public:
  virtual ~CoordinatorServer() = default;   // shuts down
  virtual std::string address() const = 0;  // "host:port" with the real port
  virtual absl::Status Live() const = 0;
  virtual absl::Status Ready() const = 0;
  // Tells workers and watchers, ends all streams; calls that are still open after `grace` are cut.
  // Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

// kUnavailable: cannot listen there. Otherwise the store's errors. `clock` and `metrics` outlive
// the server.
absl::StatusOr<std::unique_ptr<CoordinatorServer>> StartCoordinator(ServerOptions options,
                                                                    std::unique_ptr<JobStore> store,
                                                                    Clock* clock,
                                                                    MetricSink* metrics);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_SERVER_H_
