// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/worker_stream.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/service/wire.h"
#include "coordinator/service/write_queue.h"
#include "proto/codec/version.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

constexpr size_t kWaitingMessages = 1000;

// Lives until gRPC is done with it and the loop has let go of it.
class WorkerStream final
    : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>,
      public WorkerPort {
 public:
  static WorkerStream* Open(CoordinatorLoop* loop, grpc::CallbackServerContext* context) {
    auto stream = std::make_shared<WorkerStream>(loop, context);
    stream->self_ = stream;
    WorkerStream* raw = stream.get();
    const uint64_t session = loop->OpenSession(stream);
    {
      MutexLock lock(&raw->mu_);
      raw->speaker_.session = session;
    }
    if (session == 0) {
      raw->out_.Close(ToGrpc(absl::UnavailableError("the coordinator is not serving")));
    } else {
      raw->StartRead(&raw->in_);
    }
    return raw;
  }

  WorkerStream(CoordinatorLoop* loop, grpc::CallbackServerContext* context)
      : loop_(loop),
        context_(context),
        out_({[this](const v1::CoordinatorMessage* message) { StartWrite(message); },
              [this](const grpc::Status& status) { Finish(status); }},
             WriteQueue<v1::CoordinatorMessage>::Keep::kAll, kWaitingMessages) {}

  void Send(v1::CoordinatorMessage message) override { out_.Push(std::move(message)); }
  void HangUp(const absl::Status& why) override { out_.Close(ToGrpc(why)); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Lost();
      // A stream that broke looks like one that was closed; the difference is for the metrics.
      out_.Close(context_->IsCancelled() ? grpc::Status::CANCELLED : grpc::Status::OK);
      return;
    }
    const absl::Status status = Take();
    if (!status.ok()) {
      Lost();
      out_.Close(ToGrpc(status));
      return;
    }
    if (!out_.closing()) StartRead(&in_);
  }
  void OnWriteDone(bool ok) override { out_.WriteDone(ok); }
  void OnCancel() override {
    Lost();
    out_.Close(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    Lost();
    if (const uint64_t session = speaker().session; session != 0) loop_->CloseSession(session);
    const std::shared_ptr<WorkerStream> keep = std::move(self_);
  }

 private:
  absl::Status Take() {
    const input::Speaker from = speaker();
    if (from.worker_id.empty()) return TakeRegister(from.session);
    absl::StatusOr<Input> input = FromWire(in_, from);
    if (!input.ok()) return input.status();
    if (!loop_->Post(*std::move(input))) {
      return absl::UnavailableError("the coordinator is not serving, or overloaded");
    }
    return absl::OkStatus();
  }

  absl::Status TakeRegister(uint64_t session) {
    if (!in_.has_register_()) {
      return absl::InvalidArgumentError("the first message of a control stream must be Register");
    }
    const v1::Register& message = in_.register_();
    if (message.protocol_version() != kProtocolVersion) {
      return absl::FailedPreconditionError(absl::StrCat(
          "worker ", message.worker_id(), " (", message.software_version(), ") speaks protocol ",
          message.protocol_version(), ", this coordinator speaks ", kProtocolVersion,
          ": bring both to the same version"));
    }
    if (message.worker_id().empty()) return absl::InvalidArgumentError("Register: no worker_id");
    {
      MutexLock lock(&mu_);
      speaker_.worker_id = message.worker_id();
    }
    if (!loop_->Post(input::WorkerRegistered{session, FromWire(message)})) {
      return absl::UnavailableError("the coordinator is not serving, or overloaded");
    }
    return absl::OkStatus();
  }

  // Harmless when the worker has left or been given up: its session is over then.
  void Lost() {
    input::Speaker from;
    {
      MutexLock lock(&mu_);
      if (lost_ || speaker_.worker_id.empty()) return;
      lost_ = true;
      from = speaker_;
    }
    loop_->Post(input::WorkerDisconnected{from, "its control stream closed without a word"});
  }

  input::Speaker speaker() {
    MutexLock lock(&mu_);
    return speaker_;
  }

  CoordinatorLoop* const loop_;
  grpc::CallbackServerContext* const context_;  // gRPC's, until OnDone
  WriteQueue<v1::CoordinatorMessage> out_;
  std::shared_ptr<WorkerStream> self_;
  v1::WorkerMessage in_;  // gRPC's between StartRead and OnReadDone
  Mutex mu_;
  input::Speaker speaker_ ABSL_GUARDED_BY(mu_);  // no worker_id = not registered yet
  bool lost_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* WorkerControlService::Connect(
    grpc::CallbackServerContext* context) {
  return WorkerStream::Open(loop_, context);
}

}  // namespace gg
