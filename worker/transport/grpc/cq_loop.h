// SPDX-License-Identifier: Apache-2.0
//
// The transport's one thread, sleeping in the completion queue that server and client side share.
// All gRPC calls are started and completed on this thread, so nothing is handed from thread to
// thread through gRPC's own synchronisation.
//
// Thread-safety: as Loop; queue() on the loop's thread.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CQ_LOOP_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CQ_LOOP_H_

#include <grpc/grpc.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/codegen/completion_queue_tag.h>

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
  // What the queue hands out when another thread has called Wake().
  class Bell final : public grpc::internal::CompletionQueueTag {
   public:
    explicit Bell(CqEvent* event) : event_(event) {}
    bool FinalizeResult(void** tag, bool*) override {
      *tag = event_;
      return true;
    }

   private:
    CqEvent* const event_;
  };

  void Wait(absl::Time deadline) override;
  void Wake() override;

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  // A call that goes nowhere. An empty batch on it completes at once, which wakes the queue; gRPC's
  // alarms take the way through its timer threads.
  grpc_channel* const bell_channel_;
  grpc_call* const bell_call_;
  Mutex mu_;
  bool ringing_ ABSL_GUARDED_BY(mu_) = false;  // the bell was rung and its event has not been taken
  CqEvent rung_;
  Bell bell_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_CQ_LOOP_H_
