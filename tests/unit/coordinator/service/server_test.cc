// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/service/fake_worker.h"
#include "tests/unit/coordinator/service/server_fixture.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using ::testing::HasSubstr;

using ServerTest = ServerFixture;
constexpr auto kAssign = v1::CoordinatorMessage::kAssign;
constexpr auto kBegin = v1::CoordinatorMessage::kBegin;
constexpr auto kStop = v1::CoordinatorMessage::kStop;
constexpr auto kRegistered = v1::CoordinatorMessage::kRegistered;

TEST_F(ServerTest, TwoWorkersTakeAJobToItsResult) {
  Start();
  FakeWorker a(channel_, {.id = "a"});
  ASSERT_TRUE(a.NextOf(kRegistered).has_value());
  FakeWorker b(channel_, {.id = "b"});
  ASSERT_TRUE(b.NextOf(kRegistered).has_value());
  v1::Job job;
  ASSERT_TRUE(Submit(Spec("lenet", 2, 2), "r1", &job).ok());
  v1::Job last;
  int messages = 0;
  grpc::Status watched;
  std::thread watcher([&] { watched = WatchToTheEnd("lenet", &last, &messages); });

  const auto assign_a = a.NextOf(kAssign), assign_b = b.NextOf(kAssign);
  ASSERT_TRUE(assign_a && assign_b);
  EXPECT_EQ(assign_a->assign().rank(), 0);
  EXPECT_EQ(assign_b->assign().rank(), 1);
  EXPECT_EQ(assign_a->assign().view().members(1).worker_id(), "b");
  EXPECT_EQ(assign_a->assign().spec().name(), "lenet");
  a.Prepared(assign_a->assign());
  b.Prepared(assign_b->assign());
  const auto begin_a = a.NextOf(kBegin), begin_b = b.NextOf(kBegin);
  ASSERT_TRUE(begin_a && begin_b);
  for (uint64_t step = 1; step <= 200; ++step) {
    a.Train(begin_a->begin(), step);
    b.Train(begin_b->begin(), step);
  }
  a.Finished(begin_a->begin(), 90, 100);
  b.Finished(begin_b->begin(), 80, 100);
  watcher.join();
  EXPECT_TRUE(watched.ok()) << watched.error_message();
  EXPECT_EQ(last.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_DOUBLE_EQ(last.result().test_accuracy(), 0.85);
  EXPECT_GE(messages, 1);
  EXPECT_EQ(last.workers_size(), 2);
  EXPECT_EQ(last.workers(1).state(), "finished");
  EXPECT_EQ(last.conditions_size(), 3);
}

TEST_F(ServerTest, AWorkerThatVanishesFailsItsJobByName) {
  Start();
  FakeWorker a(channel_, {.id = "a"});
  ASSERT_TRUE(a.NextOf(kRegistered).has_value());
  v1::Job job;
  ASSERT_TRUE(Submit(Spec("lenet", 2, 2), "r1", &job).ok());
  {
    FakeWorker b(channel_, {.id = "b"});
    const auto assign_b = b.NextOf(kAssign);
    ASSERT_TRUE(assign_b.has_value());
    b.Vanish();
  }
  const auto stop = a.NextOf(kStop);
  ASSERT_TRUE(stop.has_value());
  EXPECT_THAT(stop->stop().reason(), HasSubstr("worker b (rank 1, host host-b"));
  ASSERT_TRUE(Get("lenet", &job).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job.reason(), HasSubstr("control stream closed"));
  EXPECT_EQ(job.failure_code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_EQ(job.workers(1).state(), "lost");
}

TEST_F(ServerTest, ASilentWorkerLosesItsLease) {
  ServerOptions options = TestOptions();
  options.loop.cluster.lease = absl::Milliseconds(300);
  Start(std::move(options), MakeMemoryStore());
  FakeWorker silent(channel_, {.id = "silent", .beats = false});
  ASSERT_TRUE(silent.NextOf(kRegistered).has_value());
  const grpc::Status end = silent.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(end.error_message(), HasSubstr("no heartbeat"));
}

TEST_F(ServerTest, SubmitIsIdempotentByRequestId) {
  Start();
  v1::Job first, second, third;
  ASSERT_TRUE(Submit(Spec("lenet"), "wish", &first).ok());
  ASSERT_TRUE(Submit(Spec("lenet"), "wish", &second).ok());
  EXPECT_EQ(first.id(), second.id());
  const grpc::Status other = Submit(Spec("lenet"), "another wish", &third);
  EXPECT_EQ(other.error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(ServerTest, AFinishedJobsNameMayBeUsedAgainAndMeansTheNewest) {
  Start();
  v1::Job first, second, found;
  ASSERT_TRUE(Submit(Spec("lenet"), "1", &first).ok());
  ASSERT_TRUE(Cancel("lenet", &found).ok());
  EXPECT_EQ(found.state(), v1::JOB_STATE_CANCELLED);
  ASSERT_TRUE(Submit(Spec("lenet"), "2", &second).ok());
  ASSERT_TRUE(Get("lenet", &found).ok());
  EXPECT_EQ(found.id(), second.id());
  ASSERT_TRUE(Get(first.id(), &found).ok());
  EXPECT_EQ(found.state(), v1::JOB_STATE_CANCELLED);
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::ListJobsResponse list;
  ASSERT_TRUE(jobs_->ListJobs(&context, {}, &list).ok());
  ASSERT_EQ(list.jobs_size(), 2);
  EXPECT_EQ(list.jobs(0).id(), first.id());
  EXPECT_EQ(list.jobs(0).events_size(), 0);
}

TEST_F(ServerTest, UnknownJobsAreNotFound) {
  Start();
  v1::Job job;
  int messages = 0;
  EXPECT_EQ(Get("nobody", &job).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Cancel("nobody", &job).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(WatchToTheEnd("nobody", &job, &messages).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(messages, 0);
}

TEST_F(ServerTest, AWorkerOfAnotherProtocolIsToldBothVersions) {
  Start();
  FakeWorker old(channel_, {.id = "old", .protocol_version = 77});
  const grpc::Status end = old.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(end.error_message(), HasSubstr("77"));
  EXPECT_THAT(end.error_message(), HasSubstr("speaks 1"));
}

TEST_F(ServerTest, ANamesakeIsRefusedUntilTheHolderIsGoneAndItsJobGoesOn) {
  Start();
  auto first =
      std::make_unique<FakeWorker>(channel_, FakeWorker::Options{.id = "w", .incarnation = 5});
  ASSERT_TRUE(first->NextOf(kRegistered).has_value());
  v1::Job job;
  ASSERT_TRUE(Submit(Spec("lenet"), "1", &job).ok());
  const auto assign = first->NextOf(kAssign);
  ASSERT_TRUE(assign.has_value());
  for (const uint64_t incarnation : {4, 6}) {
    FakeWorker namesake(channel_, {.id = "w", .incarnation = incarnation});
    const grpc::Status end = namesake.End();
    EXPECT_EQ(end.error_code(), grpc::StatusCode::ALREADY_EXISTS);
    EXPECT_THAT(end.error_message(), HasSubstr("host host-w, pid "));
  }
  first->Prepared(assign->assign());
  const auto begin = first->NextOf(kBegin);
  ASSERT_TRUE(begin.has_value());
  first->Finished(begin->begin(), 1, 2);
  int messages = 0;
  ASSERT_TRUE(WatchToTheEnd("lenet", &job, &messages).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);

  first.reset();
  for (grpc::Status end;;) {  // until the coordinator has noticed
    FakeWorker newer(channel_, {.id = "w", .incarnation = 6});
    if (newer.NextOf(kRegistered).has_value()) break;
    ASSERT_EQ(newer.End().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  }
}

TEST_F(ServerTest, ClientsThatLookAfterTheirConnectionOftenAreNotThrownOut) {
  Start();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments);
  FakeWorker worker(channel, {.id = "w", .beats = false});
  ASSERT_TRUE(worker.NextOf(kRegistered).has_value());
  // Some fifty pings without data in between; the third was one too many once.
  EXPECT_EQ(worker.End(absl::Seconds(1)).error_message(), "the stream goes on");
}

TEST_F(ServerTest, AnEndlessReasonToCancelIsRefused) {
  Start();
  v1::Job job;
  ASSERT_TRUE(Submit(Spec("lenet", 2, 2), "r", &job).ok());
  v1::CancelJobRequest request;
  v1::CancelJobResponse response;
  request.set_name("lenet");
  request.set_reason(std::string(1025, 'x'));
  {
    grpc::ClientContext context;
    SetDeadline(&context);
    EXPECT_EQ(jobs_->CancelJob(&context, request, &response).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  ASSERT_TRUE(Get("lenet", &job).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_PENDING);
  request.set_reason(std::string(1024, 'x'));
  grpc::ClientContext context;
  SetDeadline(&context);
  EXPECT_TRUE(jobs_->CancelJob(&context, request, &response).ok());
}

TEST_F(ServerTest, AStreamThatDoesNotRegisterIsClosed) {
  ServerOptions options = TestOptions();
  options.loop.register_timeout = absl::Milliseconds(100);
  Start(std::move(options), MakeMemoryStore());
  const auto stub = v1::WorkerControl::NewStub(channel_);
  {
    grpc::ClientContext context;
    SetDeadline(&context);
    const auto stream = stub->Connect(&context);
    v1::CoordinatorMessage message;
    EXPECT_FALSE(stream->Read(&message));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto stream = stub->Connect(&context);
  v1::WorkerMessage beat;
  beat.mutable_heartbeat();
  stream->Write(beat);
  v1::CoordinatorMessage message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, ShutdownTellsWorkersAndWatchers) {
  Start();
  FakeWorker worker(channel_, {.id = "w"});
  ASSERT_TRUE(worker.NextOf(kRegistered).has_value());
  v1::Job job, last;
  ASSERT_TRUE(Submit(Spec("wide", 2, 2), "r", &job).ok());
  v1::WatchJobRequest request;
  request.set_name("wide");
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto reader = jobs_->WatchJob(&context, request);
  v1::WatchJobResponse response;
  ASSERT_TRUE(reader->Read(&response));
  server_->Shutdown(absl::Seconds(5));
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  const grpc::Status end = worker.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(end.error_message(), HasSubstr("shutting down"));
  EXPECT_FALSE(server_->Ready().ok());
}

TEST_F(ServerTest, ASecondServerOnTheSamePortIsRefused) {
  Start();
  ServerOptions options = TestOptions();
  options.listen = server_->address();
  const auto second =
      StartCoordinator(std::move(options), MakeMemoryStore(), &RealClock(), &NullMetricSink());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr(server_->address()));
}

TEST_F(ServerTest, TellsWhatItIs) {
  Start();
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(jobs_->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.version(), "9.9.9");
  EXPECT_EQ(info.protocol_version(), 1u);
  EXPECT_EQ(info.coordinator_id(), "c-test");
}

TEST_F(ServerTest, ListsWorkersInTheOrderTheyCame) {
  Start();
  FakeWorker z(channel_, {.id = "z"});
  ASSERT_TRUE(z.NextOf(kRegistered).has_value());
  FakeWorker a(channel_, {.id = "a"});
  ASSERT_TRUE(a.NextOf(kRegistered).has_value());
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::ListWorkersResponse list;
  ASSERT_TRUE(jobs_->ListWorkers(&context, {}, &list).ok());
  ASSERT_EQ(list.workers_size(), 2);
  EXPECT_EQ(list.workers(0).worker_id(), "z");
  EXPECT_EQ(list.workers(0).state(), "idle");
  EXPECT_EQ(list.workers(0).rank(), -1);
}

TEST_F(ServerTest, AWatcherGetsFewMessagesHoweverFastTheWorkersReport) {
  ServerOptions options = TestOptions();
  options.loop.watch_interval = absl::Hours(1);  // so only the first and the last
  Start(std::move(options), MakeMemoryStore());
  v1::Job job, last;
  ASSERT_TRUE(Submit(Spec("lenet"), "r", &job).ok());
  v1::WatchJobRequest request;
  request.set_name("lenet");
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto reader = jobs_->WatchJob(&context, request);
  v1::WatchJobResponse response;
  ASSERT_TRUE(reader->Read(&response));
  FakeWorker worker(channel_, {.id = "w"});
  const auto assign = worker.NextOf(kAssign);
  ASSERT_TRUE(assign.has_value());
  worker.Prepared(assign->assign());
  const auto begin = worker.NextOf(kBegin);
  ASSERT_TRUE(begin.has_value());
  for (uint64_t step = 1; step <= 500; ++step) worker.Train(begin->begin(), step);
  worker.Finished(begin->begin(), 1, 2);
  int messages = 0;
  for (; reader->Read(&response); ++messages) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(messages, 1);
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_SUCCEEDED);
}

}  // namespace
}  // namespace gg
