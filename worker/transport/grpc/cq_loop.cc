// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/cq_loop.h"

#include <grpc/slice.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>

#include <algorithm>

namespace gg {

CqLoop::CqLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : Loop(RealClock()),
      queue_(std::move(queue)),
      bell_channel_(grpc_lame_client_channel_create("bell", GRPC_STATUS_UNAVAILABLE, "a bell")),
      bell_call_(grpc_channel_create_call(bell_channel_, nullptr, GRPC_PROPAGATE_DEFAULTS,
                                          queue_->cq(), grpc_slice_from_static_string("/bell"),
                                          nullptr, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr)),
      rung_([this](bool) {
        MutexLock lock(&mu_);
        ringing_ = false;
      }),
      bell_(&rung_) {
  Start();
}

CqLoop::~CqLoop() {
  Stop();
  grpc_call_unref(bell_call_);
  grpc_channel_destroy(bell_channel_);
  queue_->Shutdown();
  void* tag;
  bool ok;
  while (queue_->Next(&tag, &ok)) static_cast<CqEvent*>(tag)->Fire(ok);
}

void CqLoop::Wait(absl::Time deadline) {
  gpr_timespec until = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  if (deadline != absl::InfiniteFuture()) {
    const int64_t nanos =
        absl::ToInt64Nanoseconds(std::max(deadline - Now(), absl::ZeroDuration()));
    until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanos, GPR_TIMESPAN));
  }
  void* tag;
  bool ok;
  if (queue_->AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT) {
    SetAwake();
    static_cast<CqEvent*>(tag)->Fire(ok);
  }
}

void CqLoop::Wake() {
  MutexLock lock(&mu_);
  if (std::exchange(ringing_, true)) return;
  // Cannot fail: the call is well formed, and neither is ever shut down before the loop.
  const grpc_call_error error = grpc_call_start_batch(bell_call_, nullptr, 0, &bell_, nullptr);
  GPR_ASSERT(error == GRPC_CALL_OK);
}

}  // namespace gg
