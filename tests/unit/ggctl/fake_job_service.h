// SPDX-License-Identifier: Apache-2.0
//
// A JobService with canned answers, for tests of ggctl.
// Thread-safety: set up before Start(); the service itself is thread-safe.
#ifndef GOSSIPGRAD_TESTS_UNIT_GGCTL_FAKE_JOB_SERVICE_H_
#define GOSSIPGRAD_TESTS_UNIT_GGCTL_FAKE_JOB_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/sync.h"
#include "gossipgrad/v1/job_service.grpc.pb.h"

namespace gg {

class FakeJobService final : public gossipgrad::v1::JobService::Service {
 public:
  std::vector<gossipgrad::v1::WorkerStatus> workers;
  // What a watch sends; it ends after the last one.
  std::vector<gossipgrad::v1::Job> watch;
  // Runs before watch[index] is sent.
  std::function<void(size_t index)> before_send;
  // Runs after the last job of a watch was sent, before the stream ends.
  std::function<void(grpc::ServerContext*)> after_watch;
  // The answer to a submit when it is not OK.
  grpc::Status submit_status = grpc::Status::OK;
  gossipgrad::v1::FieldViolations violations;

  void AddJob(const gossipgrad::v1::Job& job);
  std::vector<gossipgrad::v1::SubmitJobRequest> submits() const;
  std::vector<gossipgrad::v1::CancelJobRequest> cancels() const;

  // Serves at `address` ("127.0.0.1:0"); returns host:port.
  std::string Start(const std::string& address);
  ~FakeJobService() override;

  grpc::Status SubmitJob(grpc::ServerContext* context,
                         const gossipgrad::v1::SubmitJobRequest* request,
                         gossipgrad::v1::SubmitJobResponse* response) override;
  grpc::Status GetJob(grpc::ServerContext* context, const gossipgrad::v1::GetJobRequest* request,
                      gossipgrad::v1::GetJobResponse* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context,
                        const gossipgrad::v1::ListJobsRequest* request,
                        gossipgrad::v1::ListJobsResponse* response) override;
  grpc::Status CancelJob(grpc::ServerContext* context,
                         const gossipgrad::v1::CancelJobRequest* request,
                         gossipgrad::v1::CancelJobResponse* response) override;
  grpc::Status WatchJob(grpc::ServerContext* context,
                        const gossipgrad::v1::WatchJobRequest* request,
                        grpc::ServerWriter<gossipgrad::v1::WatchJobResponse>* writer) override;
  grpc::Status ListWorkers(grpc::ServerContext* context,
                           const gossipgrad::v1::ListWorkersRequest* request,
                           gossipgrad::v1::ListWorkersResponse* response) override;
  grpc::Status GetServerInfo(grpc::ServerContext* context,
                             const gossipgrad::v1::GetServerInfoRequest* request,
                             gossipgrad::v1::GetServerInfoResponse* response) override;

 private:
  gossipgrad::v1::Job* Find(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  std::vector<gossipgrad::v1::Job> jobs_ ABSL_GUARDED_BY(mu_);
  std::vector<gossipgrad::v1::SubmitJobRequest> submits_ ABSL_GUARDED_BY(mu_);
  std::vector<gossipgrad::v1::CancelJobRequest> cancels_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<grpc::Server> server_;
};

// A job in the middle of its training, and the same one well finished.
gossipgrad::v1::Job RunningJob(const std::string& name);
gossipgrad::v1::Job FinishedJob(const std::string& name);

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_GGCTL_FAKE_JOB_SERVICE_H_
