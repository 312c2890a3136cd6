// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/job_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/service/watch_stream.h"
#include "coordinator/service/wire.h"
#include "core/spec/validate.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/version.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

constexpr size_t kMaxRequestId = 128;
constexpr size_t kMaxCancelReason = 1024;  // it is stored, logged and sent to every worker

void Finish(grpc::ServerUnaryReactor* reactor, const absl::Status& status) {
  reactor->Finish(ToGrpc(status));
}

void FinishNotServing(grpc::ServerUnaryReactor* reactor) {
  Finish(reactor, absl::UnavailableError("the coordinator is not serving, or overloaded"));
}

absl::Status NoJob(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("no job has the name or id ", name));
}

std::vector<FieldError> Check(const v1::SubmitJobRequest& request, const JobSpec& spec) {
  if (!request.has_spec()) return {{"spec", "is missing", "send the job's specification"}};
  std::vector<FieldError> errors = Validate(spec);
  if (request.request_id().size() > kMaxRequestId) {
    errors.push_back({"request_id", absl::StrCat("has ", request.request_id().size(), " bytes"),
                      absl::StrCat("at most ", kMaxRequestId)});
  }
  return errors;
}

}  // namespace

JobServiceImpl::JobServiceImpl(CoordinatorLoop* loop, std::string software_version)
    : loop_(loop), software_version_(std::move(software_version)) {}

grpc::ServerUnaryReactor* JobServiceImpl::SubmitJob(grpc::CallbackServerContext* context,
                                                    const v1::SubmitJobRequest* request,
                                                    v1::SubmitJobResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  JobSpec spec = FromProto(request->spec());
  const std::vector<FieldError> errors = Check(*request, spec);
  if (!errors.empty()) {
    context->AddTrailingMetadata(kViolationsKey, ToWire(errors).SerializeAsString());
    Finish(reactor, ToStatus(errors));
    return reactor;
  }
  if (request->validate_only()) {
    Validate(reactor, request->request_id(), std::move(spec), response);
    return reactor;
  }
  const bool posted =
      loop_->Submit(request->request_id(), std::move(spec),
                    [reactor, response](const Decision& decision, const ClusterState& state) {
                      if (const Job* job = FindJobById(state, decision.job_id); job != nullptr) {
                        *response->mutable_job() = JobToWire(state, *job, History::kWith);
                      }
                      Finish(reactor, decision.status);
                    });
  if (!posted) FinishNotServing(reactor);
  return reactor;
}

// What the state says too, as if it were meant; nothing comes of the decision.
void JobServiceImpl::Validate(grpc::ServerUnaryReactor* reactor, const std::string& request_id,
                              JobSpec spec, v1::SubmitJobResponse* response) {
  const bool posted =
      loop_->Ask([reactor, response, submit = input::SubmitJob{"", request_id, std::move(spec)}](
                     const ClusterState& state) {
        *response->mutable_job()->mutable_spec() = ToProto(submit.spec);
        Finish(reactor, Decide(state, submit, absl::UnixEpoch()).status);
      });
  if (!posted) FinishNotServing(reactor);
}

grpc::ServerUnaryReactor* JobServiceImpl::GetJob(grpc::CallbackServerContext* context,
                                                 const v1::GetJobRequest* request,
                                                 v1::GetJobResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool posted = loop_->Ask([reactor, request, response](const ClusterState& state) {
    const Job* job = FindJob(state, request->name());
    if (job != nullptr) *response->mutable_job() = JobToWire(state, *job, History::kWith);
    Finish(reactor, job != nullptr ? absl::OkStatus() : NoJob(request->name()));
  });
  if (!posted) FinishNotServing(reactor);
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::ListJobs(grpc::CallbackServerContext* context,
                                                   const v1::ListJobsRequest*,
                                                   v1::ListJobsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool posted = loop_->Ask([reactor, response](const ClusterState& state) {
    for (const auto& [number, job] : state.jobs) {
      *response->add_jobs() = JobToWire(state, job, History::kWithout);
    }
    Finish(reactor, absl::OkStatus());
  });
  if (!posted) FinishNotServing(reactor);
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::CancelJob(grpc::CallbackServerContext* context,
                                                    const v1::CancelJobRequest* request,
                                                    v1::CancelJobResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (request->reason().size() > kMaxCancelReason) {
    Finish(reactor, absl::InvalidArgumentError(absl::StrCat("reason has ", request->reason().size(),
                                                            " bytes, at most ", kMaxCancelReason)));
    return reactor;
  }
  const bool posted =
      loop_->Post(input::CancelJob{request->name(), request->reason()},
                  [reactor, response](const Decision& decision, const ClusterState& state) {
                    if (const Job* job = FindJobById(state, decision.job_id); job != nullptr) {
                      *response->mutable_job() = JobToWire(state, *job, History::kWith);
                    }
                    Finish(reactor, decision.status);
                  });
  if (!posted) FinishNotServing(reactor);
  return reactor;
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobServiceImpl::WatchJob(
    grpc::CallbackServerContext*, const v1::WatchJobRequest* request) {
  return OpenWatch(loop_, request->name());
}

grpc::ServerUnaryReactor* JobServiceImpl::ListWorkers(grpc::CallbackServerContext* context,
                                                      const v1::ListWorkersRequest*,
                                                      v1::ListWorkersResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool posted = loop_->Ask([reactor, response](const ClusterState& state) {
    for (v1::WorkerStatus& worker : WorkersToWire(state)) {
      *response->add_workers() = std::move(worker);
    }
    Finish(reactor, absl::OkStatus());
  });
  if (!posted) FinishNotServing(reactor);
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::GetServerInfo(grpc::CallbackServerContext* context,
                                                        const v1::GetServerInfoRequest*,
                                                        v1::GetServerInfoResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  response->set_version(software_version_);
  response->set_protocol_version(kProtocolVersion);
  response->set_coordinator_id(loop_->options().coordinator_id);
  response->set_uptime_seconds(absl::ToDoubleSeconds(loop_->Uptime()));
  Finish(reactor, absl::OkStatus());
  return reactor;
}

}  // namespace gg
