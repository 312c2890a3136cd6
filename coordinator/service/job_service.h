// SPDX-License-Identifier: Apache-2.0
//
// The JobService: decode, ask the loop, encode. No decisions.
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_JOB_SERVICE_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_JOB_SERVICE_H_

#include <string>

#include "coordinator/service/loop.h"
#include "gossipgrad/v1/job_service.grpc.pb.h"

namespace gg {

class JobServiceImpl final : public gossipgrad::v1::JobService::CallbackService {
 public:
  // `loop` outlives the service.
  JobServiceImpl(CoordinatorLoop* loop, std::string software_version);

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
  void Validate(grpc::ServerUnaryReactor* reactor, const std::string& request_id, JobSpec spec,
                gossipgrad::v1::SubmitJobResponse* response);

  CoordinatorLoop* const loop_;
  const std::string software_version_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_JOB_SERVICE_H_
