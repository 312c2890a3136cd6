// SPDX-License-Identifier: Apache-2.0
//
// The JobService: decode, ask the loop, encode. No decisions.
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_JOB_SERVICE_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_JOB_SERVICE_H_

#include <string>

#include "coordinator/service/loop.h"
#include "core/metrics/sink.h"
#include "gossipgrad/v1/job_service.grpc.pb.h"

namespace gg {

class JobServiceImpl final : public gossipgrad::v1::JobService::CallbackService {
 public:
  // `loop` and `metrics` outlive the service.
  JobServiceImpl(CoordinatorLoop* loop, MetricSink* metrics, std::string software_version);

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const gossipgrad::v1::SubmitJobRequest* request,
                                      gossipgrad::v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const gossipgrad::v1::GetJobRequest* request,
                                   gossipgrad::v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const gossipgrad::v1::ListJobsRequest* request,
                                     gossipgrad::v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const gossipgrad::v1::CancelJobRequest* request,
                                      gossipgrad::v1::CancelJobResponse* response) override;
  grpc::ServerWriteReactor<gossipgrad::v1::WatchJobResponse>* WatchJob(
      grpc::CallbackServerContext* context,
      const gossipgrad::v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const gossipgrad::v1::ListWorkersRequest* request,
                                        gossipgrad::v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const gossipgrad::v1::GetServerInfoRequest* request,
                                          gossipgrad::v1::GetServerInfoResponse* response) override;

 private:
  void Finish(grpc::ServerUnaryReactor* reactor, absl::string_view method,
              const absl::Status& status);
  void Validate(grpc::ServerUnaryReactor* reactor, const std::string& request_id, JobSpec spec,
                gossipgrad::v1::SubmitJobResponse* response);
  void FinishNotServing(grpc::ServerUnaryReactor* reactor, absl::string_view method);

  CoordinatorLoop* const loop_;
  MetricSink* const metrics_;
  const std::string software_version_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_JOB_SERVICE_H_
