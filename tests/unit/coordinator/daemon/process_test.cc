// SPDX-License-Identifier: Apache-2.0
//
// The real daemon, its real store and a real client over loopback.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gossipgrad/v1/job_service.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/daemon/coordinator_process.h"
#include "tests/unit/coordinator/service/fake_worker.h"
#include "tests/unit/coordinator/store/temp_file.h"
#include "worker/control/agent.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using ::testing::HasSubstr;

class Client {
 public:
  explicit Client(const CoordinatorProcess& process)
      : channel_(grpc::CreateChannel(process.grpc(), grpc::InsecureChannelCredentials())),
        stub_(v1::JobService::NewStub(channel_)) {}

  grpc::Status Submit(const std::string& name, int workers, v1::Job* job) {
    v1::SubmitJobRequest request;
    request.mutable_spec()->set_name(name);
    request.mutable_spec()->mutable_data()->set_format("synthetic");
    request.mutable_spec()->mutable_workers()->set_min(workers);
    request.mutable_spec()->mutable_workers()->set_max(workers);
    request.set_request_id("request-" + name);
    v1::SubmitJobResponse response;
    grpc::ClientContext context;
    SetDeadline(&context);
    const grpc::Status status = stub_->SubmitJob(&context, request, &response);
    *job = response.job();
    return status;
  }
  v1::Job Get(const std::string& name) {
    v1::GetJobRequest request;
    request.set_name(name);
    v1::GetJobResponse response;
    grpc::ClientContext context;
    SetDeadline(&context);
    const grpc::Status status = stub_->GetJob(&context, request, &response);
    EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
    return response.job();
  }
  v1::Job Cancel(const std::string& name) {
    v1::CancelJobRequest request;
    request.set_name(name);
    request.set_reason("test");
    v1::CancelJobResponse response;
    grpc::ClientContext context;
    SetDeadline(&context);
    const grpc::Status status = stub_->CancelJob(&context, request, &response);
    EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
    return response.job();
  }
  int ListedJobs() {
    v1::ListJobsResponse response;
    grpc::ClientContext context;
    SetDeadline(&context);
    EXPECT_TRUE(stub_->ListJobs(&context, {}, &response).ok());
    return response.jobs_size();
  }
  // The last job of the watch.
  v1::Job Watch(const std::string& name, grpc::Status* status) {
    v1::WatchJobRequest request;
    request.set_name(name);
    grpc::ClientContext context;
    SetDeadline(&context);
    const auto reader = stub_->WatchJob(&context, request);
    v1::WatchJobResponse response;
    while (reader->Read(&response)) {
    }
    *status = reader->Finish();
    return response.job();
  }
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }

 private:
  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::JobService::Stub> stub_;
};

class CoordinatorProcessTest : public testing::Test {
 protected:
  std::vector<std::string> WithStore() const { return {"--store", folder_.file()}; }
  TempFolder folder_;
};

TEST_F(CoordinatorProcessTest, ServesAndLeavesInOrderOnSigterm) {
  CoordinatorProcess process(folder_.path(), WithStore());
  ASSERT_TRUE(process.WaitUntilServing()) << process.Log();
  Client client(process);
  v1::Job job;
  ASSERT_TRUE(client.Submit("waits", 2, &job).ok());
  EXPECT_EQ(client.Submit("waits", 2, &job).error_message(), "");  // the same request
  EXPECT_EQ(client.ListedJobs(), 1);
  EXPECT_THAT(process.HttpGet("/readyz"), HasSubstr("200"));
  EXPECT_THAT(process.HttpGet("/livez"), HasSubstr("200"));
  EXPECT_THAT(process.HttpGet("/metrics"), HasSubstr("gossipgrad_jobs{state=\"pending\"}"));
  grpc::Status watched;
  std::thread watcher([&] { client.Watch("waits", &watched); });
  FakeWorker worker(client.channel(), {.id = "w"});
  ASSERT_TRUE(worker.Next().has_value());
  process.Signal(SIGTERM);
  EXPECT_EQ(process.WaitForExit(), 0) << process.Log();
  watcher.join();
  EXPECT_EQ(watched.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(worker.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CoordinatorProcessTest, WorkersTakeAJobToItsResultAndAnotherIsCancelled) {
  CoordinatorProcess process(folder_.path(), {"--log-format", "json"});
  ASSERT_TRUE(process.WaitUntilServing()) << process.Log();
  Client client(process);
  v1::Job job;
  ASSERT_TRUE(client.Submit("lenet", 2, &job).ok());
  FakeWorker a(client.channel(), {.id = "a"}), b(client.channel(), {.id = "b"});
  const auto assign_a = a.NextOf(v1::CoordinatorMessage::kAssign);
  const auto assign_b = b.NextOf(v1::CoordinatorMessage::kAssign);
  ASSERT_TRUE(assign_a && assign_b);
  a.Prepared(assign_a->assign());
  b.Prepared(assign_b->assign());
  const auto begin_a = a.NextOf(v1::CoordinatorMessage::kBegin);
  const auto begin_b = b.NextOf(v1::CoordinatorMessage::kBegin);
  ASSERT_TRUE(begin_a && begin_b);
  a.Finished(begin_a->begin(), 9, 10);
  b.Finished(begin_b->begin(), 7, 10);
  grpc::Status watched;
  const v1::Job done = client.Watch("lenet", &watched);
  EXPECT_TRUE(watched.ok()) << watched.error_message();
  EXPECT_EQ(done.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_DOUBLE_EQ(done.result().test_accuracy(), 0.8);

  ASSERT_TRUE(client.Submit("next", 2, &job).ok());
  ASSERT_TRUE(a.NextOf(v1::CoordinatorMessage::kAssign).has_value());
  EXPECT_EQ(client.Cancel("next").state(), v1::JOB_STATE_CANCELLED);
  const auto stop = a.NextOf(v1::CoordinatorMessage::kStop);
  ASSERT_TRUE(stop.has_value());
  EXPECT_THAT(stop->stop().reason(), HasSubstr("cancelled"));
}

TEST_F(CoordinatorProcessTest, AWorkerThatDisappearsIsNamedInTheJobsEnd) {
  CoordinatorProcess process(folder_.path(), WithStore());
  ASSERT_TRUE(process.WaitUntilServing()) << process.Log();
  Client client(process);
  v1::Job job;
  ASSERT_TRUE(client.Submit("lenet", 2, &job).ok());
  FakeWorker stays(client.channel(), {.id = "stays"});
  {
    FakeWorker goes(client.channel(), {.id = "goes"});
    ASSERT_TRUE(goes.NextOf(v1::CoordinatorMessage::kAssign).has_value());
  }
  ASSERT_TRUE(stays.NextOf(v1::CoordinatorMessage::kStop).has_value());
  const v1::Job failed = client.Get("lenet");
  EXPECT_EQ(failed.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(failed.reason(), HasSubstr("worker goes (rank "));
  EXPECT_THAT(failed.reason(), HasSubstr("was lost at step 0"));
}

TEST_F(CoordinatorProcessTest, WhatWasAcknowledgedIsThereAfterSigkill) {
  std::string id;
  {
    CoordinatorProcess process(folder_.path(), WithStore());
    ASSERT_TRUE(process.WaitUntilServing()) << process.Log();
    Client client(process);
    v1::Job job;
    FakeWorker worker(client.channel(), {.id = "w"});
    ASSERT_TRUE(client.Submit("runs", 1, &job).ok());
    ASSERT_TRUE(worker.NextOf(v1::CoordinatorMessage::kAssign).has_value());
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(client.Submit(absl::StrCat("waits-", i), 2, &job).ok());
    }
    id = job.id();
    process.Signal(SIGKILL);
    EXPECT_EQ(process.WaitForExit(), 128 + SIGKILL);
    EXPECT_FALSE(worker.End().ok());
  }
  CoordinatorProcess again(folder_.path(), WithStore());
  ASSERT_TRUE(again.WaitUntilServing()) << again.Log();
  Client client(again);
  EXPECT_EQ(client.ListedJobs(), 21);
  const v1::Job last = client.Get("waits-19");
  EXPECT_EQ(last.id(), id);
  EXPECT_EQ(last.state(), v1::JOB_STATE_PENDING);
  const v1::Job ran = client.Get("runs");
  EXPECT_EQ(ran.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(ran.reason(), "coordinator restarted while the job was running");
  EXPECT_EQ(ran.workers(0).worker_id(), "w");
  v1::Job same;
  ASSERT_TRUE(client.Submit("waits-19", 2, &same).ok());
  EXPECT_EQ(same.id(), id) << "the request was forgotten";
  // Views go on growing: the new job's must not be the old one's.
  FakeWorker worker(client.channel(), {.id = "w"}), other(client.channel(), {.id = "x"});
  const auto assign = worker.NextOf(v1::CoordinatorMessage::kAssign);
  ASSERT_TRUE(assign.has_value());
  EXPECT_GT(assign->assign().view().number(), ran.view());
}

// Counts what an agent is told.
class Witness final : public ControlHandler {
 public:
  void OnRegistered(const v1::Registered&) override { Count(&registered_); }
  void OnAssign(const v1::Assign&) override {}
  void OnBegin(const v1::Begin&) override {}
  void OnStop(const v1::Stop&) override {}
  void OnDisconnected(const absl::Status&) override { Count(&disconnected_); }
  void OnGivenUp(const absl::Status& why) override {
    MutexLock lock(&monitor_.mu);
    given_up_ = why;
    monitor_.changed.NotifyAll();
  }
  bool WaitRegistered(int times) {
    return Wait([&] { return registered_ >= times; });
  }
  bool WaitDisconnected() {
    return Wait([&] { return disconnected_ > 0; });
  }
  absl::Status WaitGivenUp() {
    Wait([&] { return !given_up_.ok(); });
    MutexLock lock(&monitor_.mu);
    return given_up_;
  }

 private:
  void Count(int* what) {
    MutexLock lock(&monitor_.mu);
    ++*what;
    monitor_.changed.NotifyAll();
  }
  bool Wait(absl::FunctionRef<bool()> done) {
    MutexLock lock(&monitor_.mu);
    return RealClock().Await(monitor_, done, RealClock().Now() + absl::Seconds(60));
  }
  Monitor monitor_;
  int registered_ = 0, disconnected_ = 0;
  absl::Status given_up_;
};

AgentOptions WorkerOf(const CoordinatorProcess& process) {
  AgentOptions options;
  options.coordinator = process.grpc();
  options.registration.set_worker_id("w");
  options.registration.set_incarnation(1);
  return options;
}

TEST_F(CoordinatorProcessTest, AWorkerNoticesAFrozenCoordinatorAndComesBackWhenItWakesUp) {
  CoordinatorProcess process(folder_.path(), {});
  ASSERT_TRUE(process.WaitUntilServing()) << process.Log();
  Witness witness;
  AgentOptions options = WorkerOf(process);
  options.timeout = absl::Minutes(5);
  const auto agent = Agent::Start(std::move(options), witness, RealClock(), NullMetricSink());
  ASSERT_TRUE(witness.WaitRegistered(1));
  process.Signal(SIGSTOP);
  EXPECT_TRUE(witness.WaitDisconnected());
  process.Signal(SIGCONT);
  EXPECT_TRUE(witness.WaitRegistered(2)) << process.Log();
}

TEST_F(CoordinatorProcessTest, AWorkerGivesUpOnACoordinatorThatStaysFrozen) {
  CoordinatorProcess process(folder_.path(), {});
  ASSERT_TRUE(process.WaitUntilServing()) << process.Log();
  Witness witness;
  AgentOptions options = WorkerOf(process);
  options.timeout = absl::Seconds(1);
  const auto agent = Agent::Start(std::move(options), witness, RealClock(), NullMetricSink());
  ASSERT_TRUE(witness.WaitRegistered(1));
  process.Signal(SIGSTOP);
  EXPECT_EQ(witness.WaitGivenUp().code(), absl::StatusCode::kUnavailable);
  process.Signal(SIGCONT);
}

TEST_F(CoordinatorProcessTest, ASecondOneOnTheSameStoreIsRefusedWithItsOwnCode) {
  CoordinatorProcess first(folder_.path(), WithStore());
  ASSERT_TRUE(first.WaitUntilServing()) << first.Log();
  CoordinatorProcess second(folder_.path(), WithStore());
  EXPECT_FALSE(second.WaitUntilServing());
  EXPECT_EQ(second.WaitForExit(), 73);
  EXPECT_THAT(second.Log(), HasSubstr("another coordinator"));
}

TEST_F(CoordinatorProcessTest, AnOccupiedPortHasItsOwnCode) {
  CoordinatorProcess first(folder_.path(), {});
  ASSERT_TRUE(first.WaitUntilServing()) << first.Log();
  CoordinatorProcess second(folder_.path(), {"--listen", first.grpc()});
  EXPECT_EQ(second.WaitForExit(), 69);
  CoordinatorProcess third(folder_.path(), {"--http-listen", first.http()});
  EXPECT_EQ(third.WaitForExit(), 69);
  CoordinatorProcess fourth(folder_.path(), {"--listen", "0.0.0.0:0"});
  EXPECT_EQ(fourth.WaitForExit(), 64);
}

}  // namespace
}  // namespace gg
