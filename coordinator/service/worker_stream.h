// SPDX-License-Identifier: Apache-2.0
//
// The WorkerControl service: each control stream becomes inputs of the loop, each of the loop's
// commands a message. Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_WORKER_STREAM_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_WORKER_STREAM_H_

#include "coordinator/service/loop.h"
#include "gossipgrad/v1/worker_control.grpc.pb.h"

namespace gg {

class WorkerControlService final : public gossipgrad::v1::WorkerControl::CallbackService {
 public:
  // `loop` outlives the service.
  explicit WorkerControlService(CoordinatorLoop* loop) : loop_(loop) {}

  grpc::ServerBidiReactor<gossipgrad::v1::WorkerMessage, gossipgrad::v1::CoordinatorMessage>*
  Connect(grpc::CallbackServerContext* context) override;

 private:
  CoordinatorLoop* const loop_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_WORKER_STREAM_H_
