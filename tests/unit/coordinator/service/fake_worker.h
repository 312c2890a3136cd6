// SPDX-License-Identifier: Apache-2.0
//
// A worker that speaks the control protocol and trains nothing.
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_TESTS_UNIT_COORDINATOR_SERVICE_FAKE_WORKER_H_
#define GOSSIPGRAD_TESTS_UNIT_COORDINATOR_SERVICE_FAKE_WORKER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/clock.h"
#include "gossipgrad/v1/worker_control.grpc.pb.h"

namespace gg {

class FakeWorker {
 public:
  struct Options {
    std::string id = "w1";
    uint64_t incarnation = 1;
    uint32_t protocol_version = 1;
    bool beats = true;  // sends heartbeats by itself
  };
  FakeWorker(std::shared_ptr<grpc::Channel> channel, Options options);
  ~FakeWorker();

  void Send(const gossipgrad::v1::WorkerMessage& message);
  // The next message of the coordinator; nothing when the stream has ended or `timeout` has passed.
  std::optional<gossipgrad::v1::CoordinatorMessage> Next(
      absl::Duration timeout = absl::Seconds(20));
  // Reads on until a message of that kind.
  std::optional<gossipgrad::v1::CoordinatorMessage> NextOf(
      gossipgrad::v1::CoordinatorMessage::BodyCase kind);
  // Waits for the end of the stream.
  grpc::Status End(absl::Duration timeout = absl::Seconds(20));
  // Breaks the stream without a word.
  void Vanish();

  // What a worker answers to Assign, Begin and the end of training.
  void Prepared(const gossipgrad::v1::Assign& assign, uint64_t data_fingerprint = 2);
  void Train(const gossipgrad::v1::Begin& begin, uint64_t step);
  void Finished(const gossipgrad::v1::Begin& begin, uint64_t correct, uint64_t samples);

 private:
  void ReadAll();
  void Beat();

  grpc::ClientContext context_;
  std::unique_ptr<gossipgrad::v1::WorkerControl::Stub> stub_;
  std::unique_ptr<
      grpc::ClientReaderWriter<gossipgrad::v1::WorkerMessage, gossipgrad::v1::CoordinatorMessage>>
      stream_;
  Mutex write_mu_;
  bool finished_ ABSL_GUARDED_BY(write_mu_) = false;
  Monitor monitor_;
  std::deque<gossipgrad::v1::CoordinatorMessage> inbox_ ABSL_GUARDED_BY(monitor_.mu);
  bool ended_ ABSL_GUARDED_BY(monitor_.mu) = false;
  bool stop_ ABSL_GUARDED_BY(monitor_.mu) = false;
  grpc::Status status_ ABSL_GUARDED_BY(monitor_.mu);
  std::thread reader_, beater_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_COORDINATOR_SERVICE_FAKE_WORKER_H_
