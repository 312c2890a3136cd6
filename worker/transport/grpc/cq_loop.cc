// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/cq_loop.h"

#include <grpc/support/time.h>

#include <algorithm>

namespace gg {

CqLoop::CqLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : Loop(RealClock()), queue_(std::move(queue)), rung_([this](bool) {
        MutexLock lock(&mu_);
        ringing_ = false;
      }) {
  Start();
}

CqLoop::~CqLoop() {
  Stop();
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
    static_cast<CqEvent*>(tag)->Fire(ok);
  }
}

void CqLoop::Wake() {
  MutexLock lock(&mu_);
  if (std::exchange(ringing_, true)) return;
  alarm_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), &rung_);
}

}  // namespace gg
