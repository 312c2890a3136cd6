// SPDX-License-Identifier: Apache-2.0
//
// A coordinator inside the test process, and a client of it.
#ifndef GOSSIPGRAD_TESTS_UNIT_COORDINATOR_SERVICE_SERVER_FIXTURE_H_
#define GOSSIPGRAD_TESTS_UNIT_COORDINATOR_SERVICE_SERVER_FIXTURE_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/service/server.h"
#include "coordinator/store/memory_store.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "gossipgrad/v1/job_service.grpc.pb.h"
#include "gtest/gtest.h"

namespace gg {

class ServerFixture : public testing::Test {
 protected:
  static ServerOptions TestOptions() {
    ServerOptions options;
    options.software_version = "9.9.9";
    options.loop.coordinator_id = "c-test";
    options.loop.entropy = 5;
    options.loop.tick = absl::Milliseconds(20);
    options.loop.cluster.settle = absl::Milliseconds(200);
    // Slow machines must not lose workers that the test did not take away.
    options.loop.cluster.lease = absl::Seconds(30);
    return options;
  }

  void Start(ServerOptions options, std::unique_ptr<JobStore> store) {
    auto server =
        StartCoordinator(std::move(options), std::move(store), &RealClock(), &NullMetricSink());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    jobs_ = gossipgrad::v1::JobService::NewStub(channel_);
  }
  void Start() { Start(TestOptions(), MakeMemoryStore()); }

  static gossipgrad::v1::JobSpec Spec(const std::string& name, int min = 1, int max = 1) {
    gossipgrad::v1::JobSpec spec;
    spec.set_name(name);
    spec.mutable_data()->set_format("synthetic");
    spec.mutable_workers()->set_min(min);
    spec.mutable_workers()->set_max(max);
    return spec;
  }

  grpc::Status Submit(const gossipgrad::v1::JobSpec& spec, const std::string& request_id,
                      gossipgrad::v1::Job* job) {
    gossipgrad::v1::SubmitJobRequest request;
    *request.mutable_spec() = spec;
    request.set_request_id(request_id);
    gossipgrad::v1::SubmitJobResponse response;
    grpc::ClientContext context;
    SetDeadline(&context);
    const grpc::Status status = jobs_->SubmitJob(&context, request, &response);
    *job = response.job();
    return status;
  }

  grpc::Status Get(const std::string& name, gossipgrad::v1::Job* job) {
    gossipgrad::v1::GetJobRequest request;
    request.set_name(name);
    gossipgrad::v1::GetJobResponse response;
    grpc::ClientContext context;
    SetDeadline(&context);
    const grpc::Status status = jobs_->GetJob(&context, request, &response);
    *job = response.job();
    return status;
  }

  grpc::Status Cancel(const std::string& name, gossipgrad::v1::Job* job) {
    gossipgrad::v1::CancelJobRequest request;
    request.set_name(name);
    gossipgrad::v1::CancelJobResponse response;
    grpc::ClientContext context;
    SetDeadline(&context);
    const grpc::Status status = jobs_->CancelJob(&context, request, &response);
    *job = response.job();
    return status;
  }

  // Watches until the stream ends; the last job seen.
  grpc::Status WatchToTheEnd(const std::string& name, gossipgrad::v1::Job* last, int* messages) {
    gossipgrad::v1::WatchJobRequest request;
    request.set_name(name);
    grpc::ClientContext context;
    SetDeadline(&context);
    const auto reader = jobs_->WatchJob(&context, request);
    gossipgrad::v1::WatchJobResponse response;
    for (*messages = 0; reader->Read(&response); ++*messages) *last = response.job();
    return reader->Finish();
  }

  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }

  std::unique_ptr<CoordinatorServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<gossipgrad::v1::JobService::Stub> jobs_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_COORDINATOR_SERVICE_SERVER_FIXTURE_H_
