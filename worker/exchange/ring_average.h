// SPDX-License-Identifier: Apache-2.0
//
// The exact average of a vector over all workers of a view, by ring reduce-scatter and all-gather:
// 2 (p - 1) messages of about n / p floats each per worker. Works for any p, also more workers than
// floats (empty chunks). Every chunk is summed at one worker and copied from there, so that all
// workers end with the same bits.
//
// Thread-safety: RingAverage is for one thread; RingState::aborted may be set under its mutex from
// any thread.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_RING_AVERAGE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_RING_AVERAGE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "kernels/device.h"
#include "worker/transport/transport.h"

namespace gg {

// One average under way: the memory lent to the transport and the completion flags. Shared with the
// callbacks, so that the memory outlives a collective that failed.
struct RingState {
  Monitor monitor;
  std::unique_ptr<Buffer> values;   // in: this worker's vector; out: the average
  std::unique_ptr<Buffer> arrival;  // at least RingScratchFloats()
  size_t count = 0;                 // floats of `values` that take part
  bool sending ABSL_GUARDED_BY(monitor.mu) = false;
  bool receiving ABSL_GUARDED_BY(monitor.mu) = false;
  absl::Status send_status ABSL_GUARDED_BY(monitor.mu);
  absl::Status recv_status ABSL_GUARDED_BY(monitor.mu);
  absl::Status aborted ABSL_GUARDED_BY(monitor.mu);
};

// Floats of the scratch buffer: the largest chunk.
size_t RingScratchFloats(size_t count, int size);

struct RingOutcome {
  absl::Status status;
  Rank missing = -1;  // whom the failure points at, -1 when it succeeded or was aborted
  uint64_t messages_sent = 0, messages_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
};

// `number` is the running number of the collective, equal on all workers. On failure `state` is
// spent. The status is kDeadlineExceeded or kUnavailable and names the missing worker, or is
// state.aborted.
RingOutcome RingAverage(PeerGroup& group, Clock& clock, uint64_t number, absl::Time deadline,
                        const std::shared_ptr<RingState>& state);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_RING_AVERAGE_H_
