// SPDX-License-Identifier: Apache-2.0
#include "worker/control/agent.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "gossipgrad/v1/worker_control.grpc.pb.h"
#include "proto/codec/version.h"
#include "worker/control/outbox.h"

namespace gg {
namespace {

using gossipgrad::v1::CoordinatorMessage;
using gossipgrad::v1::WorkerControl;
using gossipgrad::v1::WorkerMessage;
using ControlStream = grpc::ClientReaderWriter<WorkerMessage, CoordinatorMessage>;

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
// A coordinator that is frozen or cut off without a word is noticed after both together.
constexpr int kKeepaliveMs = 3000;
constexpr int kKeepaliveTimeoutMs = 3000;

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// Trying again does not change these answers. kAlreadyExists does change: the old process of this
// worker may be gone without the coordinator having noticed yet.
bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

class StreamAgent final : public Agent {
 public:
  StreamAgent(AgentOptions options, ControlHandler& handler, Clock& clock, MetricSink& metrics)
      : options_(std::move(options)),
        handler_(handler),
        clock_(clock),
        metrics_(metrics),
        outbox_(clock),
        backoff_(options_.backoff, options_.registration.incarnation()) {
    options_.registration.set_protocol_version(kProtocolVersion);
    metrics_.Set(GaugeId::kCoordinatorConnected, 0);
    thread_ = std::thread([this] { Run(); });
  }

  ~StreamAgent() override {
    End();
    thread_.join();
  }

  void Send(WorkerMessage message) override { outbox_.Put(std::move(message)); }

  bool connected() const override {
    MutexLock lock(&monitor_.mu);
    return registered_;
  }

  void Leave(const std::string& reason, absl::Time deadline) override {
    if (connected()) {
      WorkerMessage message;
      message.mutable_leaving()->set_reason(reason);
      outbox_.Put(std::move(message));
      // The coordinator ends the stream when it has read the message; cutting it before could lose
      // that.
      MutexLock lock(&monitor_.mu);
      clock_.Await(
          monitor_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !registered_; }, deadline);
    }
    End();
  }

 private:
  void End() {
    MutexLock lock(&monitor_.mu);
    ending_ = true;
    if (context_ != nullptr) context_->TryCancel();
    outbox_.Interrupt();
    monitor_.changed.NotifyAll();
  }

  bool ending() const {
    MutexLock lock(&monitor_.mu);
    return ending_ || left_;
  }

  void Run() {
    absl::Time away_since = clock_.Now();
    bool told_of_namesake = false;
    while (!ending()) {
      bool was_registered = false;
      const absl::Status why =
          Annotate(OneStream(was_registered), absl::StrCat("coordinator ", options_.coordinator));
      if (ending()) return;
      if (was_registered) {
        away_since = clock_.Now();
        backoff_.Reset();
        handler_.OnDisconnected(why);
      }
      if (IsRefusal(why)) return handler_.OnGivenUp(why);
      if (absl::IsAlreadyExists(why) && !std::exchange(told_of_namesake, true)) {
        handler_.OnDisconnected(why);  // no silence for as long as it is tried again
      }
      const absl::Time give_up = away_since + options_.timeout;
      if (!Pause(std::min(clock_.Now() + backoff_.Next(), give_up))) return;
      if (clock_.Now() >= give_up) {
        return handler_.OnGivenUp(absl::UnavailableError(
            absl::StrCat(absl::IsAlreadyExists(why) ? "refused for " : "not reachable for ",
                         absl::FormatDuration(options_.timeout), ": ", why.message())));
      }
    }
  }

  // False when the agent ends meanwhile.
  bool Pause(absl::Time until) {
    MutexLock lock(&monitor_.mu);
    return !clock_.Await(
        monitor_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ending_; }, until);
  }

  // Waits for the connection, in pieces so that End() gets through. When it cannot be made, the
  // stream's own error says why; only silence is an error here.
  absl::Status WaitForConnection(grpc::Channel& channel) {
    const absl::Time deadline = clock_.Now() + std::min(kConnectTimeout, options_.timeout);
    while (!ending()) {
      const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
      if (state == GRPC_CHANNEL_READY || state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
        return absl::OkStatus();
      }
      if (clock_.Now() >= deadline) return absl::UnavailableError("connection attempt timed out");
      channel.WaitForStateChange(state,
                                 std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    }
    return absl::CancelledError("ending");
  }

  // From connecting to the end of the stream. Never OK.
  absl::Status OneStream(bool& was_registered) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Each attempt really connects, instead of sharing another channel's back-off.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    const auto channel = grpc::CreateCustomChannel(options_.coordinator,
                                                   grpc::InsecureChannelCredentials(), arguments);
    if (absl::Status status = WaitForConnection(*channel); !status.ok()) return status;
    const auto stub = WorkerControl::NewStub(channel);
    grpc::ClientContext context;
    {
      MutexLock lock(&monitor_.mu);
      if (ending_) return absl::CancelledError("ending");
      context_ = &context;
      outbox_.Resume();
    }
    const std::unique_ptr<ControlStream> stream = stub->Connect(&context);
    std::thread writer([&] { Write(*stream, context); });
    CoordinatorMessage message;
    while (stream->Read(&message)) Handle(message, was_registered);
    {
      MutexLock lock(&monitor_.mu);
      context_ = nullptr;
      registered_ = false;
      heartbeat_ = absl::ZeroDuration();
      outbox_.Interrupt();
      monitor_.changed.NotifyAll();
    }
    metrics_.Set(GaugeId::kCoordinatorConnected, 0);
    writer.join();
    const absl::Status end = FromGrpc(stream->Finish());
    return end.ok() ? absl::UnavailableError("it ended the control stream") : end;
  }

  void Handle(const CoordinatorMessage& message, bool& was_registered) {
    switch (message.body_case()) {
      case CoordinatorMessage::kRegistered: {
        const double seconds = message.registered().heartbeat_seconds();
        {
          MutexLock lock(&monitor_.mu);
          registered_ = true;
          heartbeat_ = absl::Seconds(std::clamp(seconds, 0.05, 60.0));
          monitor_.changed.NotifyAll();
        }
        was_registered = true;
        metrics_.Set(GaugeId::kCoordinatorConnected, 1);
        return handler_.OnRegistered(message.registered());
      }
      case CoordinatorMessage::kAssign:
        return handler_.OnAssign(message.assign());
      case CoordinatorMessage::kBegin:
        return handler_.OnBegin(message.begin());
      case CoordinatorMessage::kStop:
        return handler_.OnStop(message.stop());
      case CoordinatorMessage::BODY_NOT_SET:
        return;  // an order that this release does not know
    }
  }

  // Registers, then sends heartbeats and what the outbox holds until the stream ends.
  void Write(ControlStream& stream, grpc::ClientContext& context) {
    WorkerMessage hello;
    *hello.mutable_register_() = options_.registration;
    if (!stream.Write(hello)) return;
    absl::Duration heartbeat;
    {
      MutexLock lock(&monitor_.mu);
      const bool answered = clock_.Await(
          monitor_,
          [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return registered_ || context_ == nullptr || ending_;
          },
          clock_.Now() + options_.answer_timeout);
      if (!registered_) {
        if (!answered) context.TryCancel();
        return;
      }
      heartbeat = heartbeat_;
    }
    uint64_t sequence = 0;
    for (absl::Time next_beat = clock_.Now();;) {
      if (clock_.Now() >= next_beat) {
        WorkerMessage beat;
        beat.mutable_heartbeat()->set_sequence(++sequence);
        if (!stream.Write(beat)) return;
        next_beat = clock_.Now() + heartbeat;
      }
      std::optional<WorkerMessage> message = outbox_.Take(next_beat);
      if (!message.has_value()) {
        MutexLock lock(&monitor_.mu);
        if (context_ == nullptr || ending_) return;
        continue;
      }
      const bool leaving = message->has_leaving();
      if (!stream.Write(*message)) {
        if (!leaving) outbox_.PutBack(*std::move(message));
        return;
      }
      if (leaving) {
        stream.WritesDone();
        MutexLock lock(&monitor_.mu);
        left_ = true;
        return;
      }
    }
  }

  AgentOptions options_;  // constant after construction
  ControlHandler& handler_;
  Clock& clock_;
  MetricSink& metrics_;
  Outbox outbox_;
  Backoff backoff_;  // owned by thread_

  mutable Monitor monitor_;
  bool ending_ ABSL_GUARDED_BY(monitor_.mu) = false;
  bool registered_ ABSL_GUARDED_BY(monitor_.mu) = false;
  bool left_ ABSL_GUARDED_BY(monitor_.mu) = false;  // the good-bye is written
  absl::Duration heartbeat_ ABSL_GUARDED_BY(monitor_.mu);
  grpc::ClientContext* context_ ABSL_GUARDED_BY(monitor_.mu) = nullptr;  // of the standing stream
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Agent> Agent::Start(AgentOptions options, ControlHandler& handler, Clock& clock,
                                    MetricSink& metrics) {
  return std::make_unique<StreamAgent>(std::move(options), handler, clock, metrics);
}

}  // namespace gg
