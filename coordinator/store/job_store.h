// SPDX-License-Identifier: Apache-2.0
//
// Where the durable events of the cluster live. One coordinator per store.
// To add a store: implement this, add it to tests/conformance/store.
// Thread-safety: thread-compatible; owned by the coordinator's loop thread.
#ifndef GOSSIPGRAD_COORDINATOR_STORE_JOB_STORE_H_
#define GOSSIPGRAD_COORDINATOR_STORE_JOB_STORE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "coordinator/state/event.h"

namespace gg {

class JobStore {
 public:
  virtual ~JobStore() = default;

  // All of the events or none; durable when OK: they survive the death of the process and of the
  // machine. JobForgotten drops the job's earlier events and earlier JobForgotten events.
  // kInvalidArgument: a volatile event. kUnavailable, kResourceExhausted (disk full): nothing was
  // written, try again. kDataLoss: the store is damaged.
  virtual absl::Status Append(absl::Span<const Event> events) = 0;

  // Calls `visit` with each event in the order of Append; its first error ends the replay and is
  // returned. kDataLoss: an event cannot be read (the message says which). kFailedPrecondition:
  // written by a newer version.
  virtual absl::Status Replay(absl::FunctionRef<absl::Status(const Event&)> visit) = 0;

  // Whether Append would work again, found out by writing something durable that leaves no trace.
  // Errors as Append. May take as long as an Append.
  virtual absl::Status Probe() = 0;

  // Size on disk (or in memory), for the metric.
  virtual int64_t Bytes() const = 0;
  // For messages: the file's path or "memory".
  virtual absl::string_view name() const = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STORE_JOB_STORE_H_
