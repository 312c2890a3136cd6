// SPDX-License-Identifier: Apache-2.0
//
// The worker's side of the control stream: finds the coordinator, registers, sends heartbeats and
// reports, and passes orders on. A broken stream is made again with growing pauses; when the
// coordinator stays away for longer than the time-out, the agent gives up and says so once.
// Thread-safety: thread-safe. Two private threads: one reads, one writes. The handler runs on the
// reading one.
#ifndef GOSSIPGRAD_WORKER_CONTROL_AGENT_H_
#define GOSSIPGRAD_WORKER_CONTROL_AGENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "gossipgrad/v1/worker_control.pb.h"
#include "worker/control/backoff.h"

namespace gg {

// What the coordinator orders. Must not block: the stream is not read meanwhile. May call
// Agent::Send.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;
  virtual void OnRegistered(const gossipgrad::v1::Registered& registered) = 0;
  virtual void OnAssign(const gossipgrad::v1::Assign& assign) = 0;
  virtual void OnBegin(const gossipgrad::v1::Begin& begin) = 0;
  virtual void OnStop(const gossipgrad::v1::Stop& stop) = 0;
  // The stream broke, or another process holds this worker's id; the agent tries again.
  virtual void OnDisconnected(const absl::Status& why) = 0;
  // Last call. kUnavailable: there was no place at the coordinator for longer than the time-out.
  // Any other code: it refuses this worker, and trying again would not help.
  virtual void OnGivenUp(const absl::Status& why) = 0;
};

struct AgentOptions {
  std::string coordinator;  // HOST:PORT
  gossipgrad::v1::Register
      registration;  // sent first on each stream; protocol_version is filled in
  absl::Duration timeout = absl::Seconds(30);         // how long the coordinator may be away
  absl::Duration answer_timeout = absl::Seconds(10);  // from connecting to being registered
  BackoffOptions backoff;
};

class Agent {
 public:
  // Starts at once. `handler`, `clock` and `metrics` must outlive the agent. Ending the agent cuts
  // the stream.
  static std::unique_ptr<Agent> Start(AgentOptions options, ControlHandler& handler, Clock& clock,
                                      MetricSink& metrics);
  virtual ~Agent() = default;

  // Queues a message; never blocks. Kept over a reconnection.
  virtual void Send(gossipgrad::v1::WorkerMessage message) = 0;

  virtual bool connected() const = 0;  // registered on a standing stream

  // Says good-bye and ends the stream, by `deadline` at the latest. Nothing is sent afterwards.
  virtual void Leave(const std::string& reason, absl::Time deadline) = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_CONTROL_AGENT_H_
