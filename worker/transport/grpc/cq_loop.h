// SPDX-License-Identifier: Apache-2.0
//
// The transport's one thread, sleeping in the completion queue that server and client side share.
// All gRPC calls are started and completed on this thread, so nothing is handed from thread to
// thread through gRPC's own synchronisation.
//
// Thread-safety: as Loop; queue() on the loop's thread.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CQ_LOOP_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CQ_LOOP_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "worker/transport/loop.h"

namespace gg {

// The tag of one kind of operation of one stream; at most one such operation is under way.
class CqEvent {
 public:
  explicit CqEvent(absl::AnyInvocable<void(bool ok)> fire) : fire_(std::move(fire)) {}
  CqEvent(const CqEvent&) = delete;
  CqEvent& operator=(const CqEvent&) = delete;
  void Fire(bool ok) { fire_(ok); }

 private:
  absl::AnyInvocable<void(bool ok)> fire_;
};

class CqLoop final : public Loop {
 public:
  explicit CqLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  // No operation is under way any more, the server of the queue is shut down.
  ~CqLoop() override;

  grpc::ServerCompletionQueue* queue() { return queue_.get(); }

 private:
  void Wait(absl::Time deadline) override;
  void Wake() override;

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  Mutex mu_;
  bool ringing_ ABSL_GUARDED_BY(mu_) = false;  // the alarm is set and its event has not been taken
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mu_);
  CqEvent rung_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CQ_LOOP_H_
