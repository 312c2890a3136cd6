// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/coordinator/service/fake_worker.h"

#include <unistd.h>

#include <utility>

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

}  // namespace

FakeWorker::FakeWorker(std::shared_ptr<grpc::Channel> channel, Options options)
    : stub_(v1::WorkerControl::NewStub(channel)), stream_(stub_->Connect(&context_)) {
  v1::WorkerMessage message;
  v1::Register* hello = message.mutable_register_();
  hello->set_protocol_version(options.protocol_version);
  hello->set_software_version("test");
  hello->set_worker_id(options.id);
  hello->set_incarnation(options.incarnation);
  hello->set_host("host-" + options.id);
  hello->set_pid(getpid());
  hello->set_address("127.0.0.1:1");
  hello->set_transport("grpc");
  Send(message);
  reader_ = std::thread([this] { ReadAll(); });
  if (options.beats) beater_ = std::thread([this] { Beat(); });
}

FakeWorker::~FakeWorker() {
  Vanish();
  {
    MutexLock lock(&monitor_.mu);
    stop_ = true;
    monitor_.changed.NotifyAll();
  }
  reader_.join();
  if (beater_.joinable()) beater_.join();
}

void FakeWorker::Vanish() {
  context_.TryCancel();
}

void FakeWorker::Send(const v1::WorkerMessage& message) {
  MutexLock lock(&write_mu_);
  if (!finished_) stream_->Write(message);
}

void FakeWorker::ReadAll() {
  v1::CoordinatorMessage message;
  while (stream_->Read(&message)) {
    MutexLock lock(&monitor_.mu);
    inbox_.push_back(std::move(message));
    monitor_.changed.NotifyAll();
  }
  grpc::Status status;
  {
    MutexLock lock(&write_mu_);
    finished_ = true;
    status = stream_->Finish();
  }
  MutexLock lock(&monitor_.mu);
  ended_ = true;
  status_ = status;
  monitor_.changed.NotifyAll();
}

void FakeWorker::Beat() {
  v1::WorkerMessage message;
  while (true) {
    {
      MutexLock lock(&monitor_.mu);
      const bool stop = RealClock().Await(
          monitor_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return stop_; },
          RealClock().Now() + absl::Milliseconds(100));
      if (stop) return;
    }
    message.mutable_heartbeat()->set_sequence(message.heartbeat().sequence() + 1);
    Send(message);
  }
}

std::optional<v1::CoordinatorMessage> FakeWorker::Next(absl::Duration timeout) {
  MutexLock lock(&monitor_.mu);
  RealClock().Await(
      monitor_,
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return ended_ || !inbox_.empty(); },
      RealClock().Now() + timeout);
  if (inbox_.empty()) return std::nullopt;
  v1::CoordinatorMessage message = std::move(inbox_.front());
  inbox_.pop_front();
  return message;
}

std::optional<v1::CoordinatorMessage> FakeWorker::NextOf(v1::CoordinatorMessage::BodyCase kind) {
  while (true) {
    std::optional<v1::CoordinatorMessage> message = Next();
    if (!message.has_value() || message->body_case() == kind) return message;
  }
}

grpc::Status FakeWorker::End(absl::Duration timeout) {
  MutexLock lock(&monitor_.mu);
  const bool ended = RealClock().Await(
      monitor_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return ended_; },
      RealClock().Now() + timeout);
  return ended ? status_ : grpc::Status(grpc::StatusCode::UNKNOWN, "the stream goes on");
}

void FakeWorker::Prepared(const v1::Assign& assign, uint64_t data_fingerprint) {
  v1::WorkerMessage message;
  v1::Prepared* prepared = message.mutable_prepared();
  prepared->set_job_id(assign.job_id());
  prepared->set_view(assign.view().number());
  prepared->set_schedule_fingerprint(1);
  prepared->set_data_fingerprint(data_fingerprint);
  prepared->set_model_fingerprint(3);
  prepared->set_parameter_count(1000);
  prepared->set_steps_per_epoch(10);
  prepared->set_total_steps(20);
  prepared->set_transport("grpc over loopback");
  Send(message);
}

void FakeWorker::Train(const v1::Begin& begin, uint64_t step) {
  v1::WorkerMessage message;
  v1::Progress* progress = message.mutable_progress();
  progress->set_job_id(begin.job_id());
  progress->set_view(begin.view());
  progress->set_step(step);
  progress->set_loss(1.0 / static_cast<double>(step));
  progress->set_samples_per_second(100);
  Send(message);
}

void FakeWorker::Finished(const v1::Begin& begin, uint64_t correct, uint64_t samples) {
  v1::WorkerMessage message;
  v1::Finished* finished = message.mutable_finished();
  finished->set_job_id(begin.job_id());
  finished->set_view(begin.view());
  finished->set_steps(20);
  finished->set_epochs(2);
  finished->set_train_seconds(1);
  finished->set_average_correct(correct);
  finished->set_average_samples(samples);
  (*finished->mutable_phase_seconds())["forward"] = 0.5;
  Send(message);
}

}  // namespace gg
