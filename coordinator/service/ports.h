// SPDX-License-Identifier: Apache-2.0
//
// How the loop speaks to the streams without knowing gRPC's reactors.
// Thread-safety: implementations are thread-safe and never block.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_PORTS_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_PORTS_H_

#include "absl/status/status.h"
#include "gossipgrad/v1/job_service.pb.h"
#include "gossipgrad/v1/worker_control.pb.h"

namespace gg {

// One worker's control stream.
class WorkerPort {
 public:
  virtual ~WorkerPort() = default;
  virtual void Send(gossipgrad::v1::CoordinatorMessage message) = 0;
  virtual void HangUp(const absl::Status& why) = 0;
};

// One WatchJob call.
class WatchPort {
 public:
  virtual ~WatchPort() = default;
  virtual void Show(gossipgrad::v1::WatchJobResponse response) = 0;
  virtual void End(const absl::Status& status) = 0;
  virtual bool gone() = 0;  // the client has left
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_PORTS_H_
