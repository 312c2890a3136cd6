// SPDX-License-Identifier: Apache-2.0
// Every RPC is counted once, with its outcome: unary, streams, health checks.
#include "coordinator/service/grpc_metrics.h"

#include <grpcpp/generic/generic_stub.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/series_sink.h"
#include "tests/unit/coordinator/service/fake_worker.h"
#include "tests/unit/coordinator/service/server_fixture.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

class GrpcMetricsTest : public ServerFixture {
 protected:
  void SetUp() override {
    auto server = StartCoordinator(TestOptions(), MakeMemoryStore(), &RealClock(), &sink_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    jobs_ = v1::JobService::NewStub(channel_);
  }
  void TearDown() override { server_ = nullptr; }

  // A client can have its answer a moment before the server has counted it.
  static bool Eventually(absl::FunctionRef<bool()> condition) {
    Monitor monitor;
    MutexLock lock(&monitor.mu);
    const absl::Time deadline = RealClock().Now() + absl::Seconds(20);
    while (!condition()) {
      if (RealClock().Now() >= deadline) return false;
      RealClock().Await(
          monitor, [] { return false; }, RealClock().Now() + absl::Milliseconds(5));
    }
    return true;
  }

  // The value of a series once it is `expected`; what it is after a while otherwise.
  double Handled(const std::string& key, double expected) {
    const auto value = [&] {
      const auto all = sink_.series();
      const auto it = all.find(key);
      return it == all.end() ? -1 : it->second;
    };
    Eventually([&] { return value() == expected; });
    return value();
  }

  // With an empty message.
  grpc::StatusCode Call(const std::string& path) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    SetDeadline(&context);
    grpc::CompletionQueue queue;
    const grpc::Slice nothing("", 0);
    const auto call = stub.PrepareUnaryCall(&context, path, grpc::ByteBuffer(&nothing, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    call->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return status.error_code();
  }

  SeriesSink sink_;
};

TEST_F(GrpcMetricsTest, EveryMethodIsThereAtZeroFromTheStart) {
  for (const char* method : {"SubmitJob", "GetJob", "ListJobs", "CancelJob", "WatchJob",
                             "ListWorkers", "GetServerInfo"}) {
    EXPECT_EQ(
        Handled(absl::StrCat("grpc_server_handled_total{gossipgrad.v1.JobService,", method, ",OK}"),
                0),
        0)
        << method;
  }
  EXPECT_EQ(Handled("grpc_server_handled_total{gossipgrad.v1.WorkerControl,Connect,OK}", 0), 0);
}

TEST_F(GrpcMetricsTest, UnaryCallsAreCountedByTheirCode) {
  v1::Job job;
  EXPECT_TRUE(Submit(Spec("lenet", 2, 2), "r1", &job).ok());
  EXPECT_EQ(Get("nobody", &job).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Get("nobody", &job).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Submit(Spec("Not A Name"), "r2", &job).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Handled("grpc_server_handled_total{gossipgrad.v1.JobService,SubmitJob,OK}", 1), 1);
  EXPECT_EQ(Handled("grpc_server_handled_total{gossipgrad.v1.JobService,GetJob,NotFound}", 2), 2);
  EXPECT_EQ(
      Handled("grpc_server_handled_total{gossipgrad.v1.JobService,SubmitJob,InvalidArgument}", 1),
      1);
  const auto all = sink_.series();
  EXPECT_EQ(all.at("grpc_server_handling_seconds{gossipgrad.v1.JobService,GetJob}"), 2);
  EXPECT_EQ(all.at("grpc_server_handling_seconds{gossipgrad.v1.JobService,SubmitJob}"), 2);
}

TEST_F(GrpcMetricsTest, StreamsAreCountedWhenTheyEndHoweverTheyDo) {
  v1::Job job;
  int messages = 0;
  EXPECT_EQ(WatchToTheEnd("nobody", &job, &messages).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Handled("grpc_server_handled_total{gossipgrad.v1.JobService,WatchJob,NotFound}", 1), 1);
  {
    FakeWorker worker(channel_, {.id = "a"});
    ASSERT_TRUE(worker.NextOf(v1::CoordinatorMessage::kRegistered).has_value());
    EXPECT_EQ(sink_.Of("grpc_server_handling_seconds{gossipgrad.v1.WorkerControl").size(), 0u);
    worker.Vanish();
    // Seen first by the read, it counts as closed by the worker; by the cancellation, as Canceled.
    EXPECT_TRUE(Eventually([&] {
      double ended = 0;
      for (const auto& [key, value] :
           sink_.Of("grpc_server_handled_total{gossipgrad.v1.WorkerControl,Connect,")) {
        ended += value;
      }
      return ended == 1;
    }));
  }
  FakeWorker stranger(channel_, {.id = "b", .protocol_version = 99});
  EXPECT_EQ(stranger.End().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(
      Handled("grpc_server_handled_total{gossipgrad.v1.WorkerControl,Connect,FailedPrecondition}",
              1),
      1);
}

TEST_F(GrpcMetricsTest, HealthChecksAreCountedAsWell) {
  EXPECT_EQ(Call("/grpc.health.v1.Health/Check"), grpc::StatusCode::OK);
  EXPECT_EQ(Handled("grpc_server_handled_total{grpc.health.v1.Health,Check,OK}", 1), 1);
}

TEST_F(GrpcMetricsTest, WhatClientsMakeUpSharesOneSeries) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Call(absl::StrCat("/made.up/Method", i)), grpc::StatusCode::UNIMPLEMENTED);
  }
  EXPECT_EQ(Handled("grpc_server_handled_total{unknown,unknown,Unimplemented}", 10), 10);
  for (const auto& [key, value] : sink_.Of("grpc_server")) {
    EXPECT_FALSE(absl::StrContains(key, "made.up")) << key;
  }
}

TEST(GoCodeName, IsGosSpelling) {
  EXPECT_EQ(GoCodeName(grpc::StatusCode::OK), "OK");
  EXPECT_EQ(GoCodeName(grpc::StatusCode::CANCELLED), "Canceled");
  EXPECT_EQ(GoCodeName(grpc::StatusCode::UNAVAILABLE), "Unavailable");
  EXPECT_EQ(GoCodeName(grpc::StatusCode::UNAUTHENTICATED), "Unauthenticated");
  EXPECT_EQ(GoCodeName(static_cast<grpc::StatusCode>(99)), "Unknown");
}

}  // namespace
}  // namespace gg
