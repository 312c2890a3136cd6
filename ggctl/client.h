// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's JobService with deadlines, one retry and absl::Status. Field violations of the
// server travel as a payload of the status: ViolationsOf(). Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_GGCTL_CLIENT_H_
#define GOSSIPGRAD_GGCTL_CLIENT_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/spec/job_spec.h"
#include "core/spec/validate.h"
#include "core/sync.h"
#include "gossipgrad/v1/job_service.grpc.pb.h"

namespace gg {

class JobClient {
 public:
  // `server` is host:port. Nothing is connected yet. `timeout` bounds each call but a watch.
  JobClient(const std::string& server, absl::Duration timeout);

  // The same `request_id` again never makes a second job, so that a retry is safe.
  absl::StatusOr<gossipgrad::v1::Job> Submit(const JobSpec& spec, const std::string& request_id,
                                             bool validate_only);
  absl::StatusOr<gossipgrad::v1::Job> Get(const std::string& name);
  absl::StatusOr<std::vector<gossipgrad::v1::Job>> List();
  absl::StatusOr<gossipgrad::v1::Job> Cancel(const std::string& name, const std::string& reason);
  absl::StatusOr<std::vector<gossipgrad::v1::WorkerStatus>> ListWorkers();
  absl::StatusOr<gossipgrad::v1::GetServerInfoResponse> ServerInfo();

  gossipgrad::v1::JobService::Stub& stub() { return *stub_; }
  const std::string& server() const { return server_; }
  absl::Duration timeout() const { return timeout_; }

  // Ends all running calls with kCancelled and lets none begin: for a thread that must be joined.
  void Shutdown();

  // A call that Shutdown() ends, for as long as this object lives. When `started()` is false the
  // call must not be made.
  class RunningCall {
   public:
    RunningCall(JobClient* client, grpc::ClientContext* context);
    ~RunningCall();
    RunningCall(const RunningCall&) = delete;
    RunningCall& operator=(const RunningCall&) = delete;
    bool started() const { return started_; }

   private:
    JobClient* const client_;
    grpc::ClientContext* const context_;
    bool started_ = false;
  };

 private:
  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (gossipgrad::v1::JobService::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                    const Request& request, Response* response);

  template <typename Request, typename Response>
  absl::Status CallOnce(grpc::Status (gossipgrad::v1::JobService::Stub::*method)(
                            grpc::ClientContext*, const Request&, Response*),
                        grpc::ClientContext* context, const Request& request, Response* response);

  // Whether a connection stands before `deadline`, or before Shutdown().
  bool WaitForConnection(absl::Time deadline);

  const std::string server_;
  const absl::Duration timeout_;
  std::shared_ptr<grpc::Channel> channel_;
  Mutex mu_;
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  std::unordered_set<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<gossipgrad::v1::JobService::Stub> stub_;
};

// Message and code of a finished call. A connection error says which server and what to try; what
// the server itself said stays as it is; the bare name of a code becomes a sentence.
absl::Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context,
                      const std::string& server);

// What the server found wrong, by field; empty when the error is of another kind.
std::vector<FieldError> ViolationsOf(const absl::Status& status);

// 128 random bits in hex.
std::string NewRequestId();

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_CLIENT_H_
