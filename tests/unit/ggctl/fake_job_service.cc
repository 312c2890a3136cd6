// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ggctl/fake_job_service.h"

#include <chrono>

#include "core/spec/job_spec.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/version.h"

namespace gg {

namespace v1 = gossipgrad::v1;

void FakeJobService::AddJob(const v1::Job& job) {
  MutexLock lock(&mu_);
  jobs_.push_back(job);
}

std::vector<v1::SubmitJobRequest> FakeJobService::submits() const {
  MutexLock lock(&mu_);
  return submits_;
}

std::vector<v1::CancelJobRequest> FakeJobService::cancels() const {
  MutexLock lock(&mu_);
  return cancels_;
}

std::string FakeJobService::Start(const std::string& address) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  return "127.0.0.1:" + std::to_string(port);
}

FakeJobService::~FakeJobService() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

v1::Job* FakeJobService::Find(const std::string& name) {
  for (v1::Job& job : jobs_) {
    if (job.id() == name || job.spec().name() == name) return &job;
  }
  return nullptr;
}

grpc::Status FakeJobService::SubmitJob(grpc::ServerContext* context,
                                       const v1::SubmitJobRequest* request,
                                       v1::SubmitJobResponse* response) {
  MutexLock lock(&mu_);
  submits_.push_back(*request);
  if (violations.violations_size() > 0) {
    context->AddTrailingMetadata(kViolationsKey, violations.SerializeAsString());
  }
  if (!submit_status.ok()) return submit_status;
  v1::Job job;
  job.set_id("j-1");
  *job.mutable_spec() = request->spec();
  job.set_state(v1::JOB_STATE_PENDING);
  if (!request->validate_only()) jobs_.push_back(job);
  *response->mutable_job() = job;
  return grpc::Status::OK;
}

grpc::Status FakeJobService::GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                                    v1::GetJobResponse* response) {
  MutexLock lock(&mu_);
  const v1::Job* job = Find(request->name());
  if (job == nullptr) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no job " + request->name());
  *response->mutable_job() = *job;
  return grpc::Status::OK;
}

grpc::Status FakeJobService::ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                                      v1::ListJobsResponse* response) {
  MutexLock lock(&mu_);
  for (const v1::Job& job : jobs_) *response->add_jobs() = job;
  return grpc::Status::OK;
}

grpc::Status FakeJobService::CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                                       v1::CancelJobResponse* response) {
  MutexLock lock(&mu_);
  cancels_.push_back(*request);
  v1::Job* job = Find(request->name());
  if (job == nullptr) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no job " + request->name());
  job->set_state(v1::JOB_STATE_CANCELLED);
  *response->mutable_job() = *job;
  return grpc::Status::OK;
}

grpc::Status FakeJobService::WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest*,
                                      grpc::ServerWriter<v1::WatchJobResponse>* writer) {
  for (size_t i = 0; i < watch.size(); ++i) {
    if (before_send) before_send(i);
    v1::WatchJobResponse response;
    *response.mutable_job() = watch[i];
    writer->Write(response);
  }
  if (after_watch) after_watch(context);
  return grpc::Status::OK;
}

grpc::Status FakeJobService::ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                                         v1::ListWorkersResponse* response) {
  for (const v1::WorkerStatus& worker : workers) *response->add_workers() = worker;
  return grpc::Status::OK;
}

grpc::Status FakeJobService::GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                                           v1::GetServerInfoResponse* response) {
  response->set_version("9.8.7");
  response->set_protocol_version(kProtocolVersion + 1);
  response->set_coordinator_id("c-1");
  response->set_uptime_seconds(3661);
  return grpc::Status::OK;
}

v1::Job RunningJob(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  spec.data.path = "/data";
  spec.workers.min = spec.workers.max = 2;
  v1::Job job;
  job.set_id("j-" + name);
  *job.mutable_spec() = ToProto(spec);
  job.set_state(v1::JOB_STATE_RUNNING);
  job.mutable_created()->set_seconds(1700000000);
  job.mutable_started()->set_seconds(1700000001);
  job.mutable_started()->set_nanos(250000000);
  job.set_view(1);
  job.set_revision(7);
  v1::JobProgress& progress = *job.mutable_progress();
  progress.set_step(421);
  progress.set_total_steps(938);
  progress.set_epoch(4.5);
  progress.set_total_epochs(10);
  progress.set_loss(0.3241);
  progress.set_learning_rate(0.02);
  progress.set_samples_per_second(5120.4);
  progress.set_comm_wait_ratio(0.031);
  progress.set_test_accuracy(0.881);
  progress.set_eta_seconds(72);
  for (int rank = 0; rank < 2; ++rank) {
    v1::WorkerStatus& worker = *job.add_workers();
    worker.set_worker_id("worker-" + std::to_string(rank));
    worker.set_state("running");
    worker.set_rank(rank);
    worker.set_job(name);
    worker.set_host("host");
    (*worker.mutable_topology())["rack"] = std::to_string(rank);
    worker.set_pid(100 + rank);
    worker.set_step(421);
    worker.set_loss(0.32);
    worker.set_samples_per_second(2560);
    worker.set_transport("gRPC over loopback");
    worker.set_device("reference");
    worker.set_address("127.0.0.1:1");
  }
  v1::JobEvent& event = *job.add_events();
  event.mutable_time()->set_seconds(1700000001);
  event.set_type("Normal");
  event.set_reason("Started");
  event.set_message("training on 2 workers");
  v1::Condition& condition = *job.add_conditions();
  condition.set_type("Running");
  condition.set_status("True");
  condition.set_reason("AllPrepared");
  condition.set_message("all workers are prepared");
  condition.mutable_last_transition_time()->set_seconds(1700000001);
  return job;
}

v1::Job FinishedJob(const std::string& name) {
  v1::Job job = RunningJob(name);
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  job.mutable_finished()->set_seconds(1700000100);
  job.mutable_progress()->set_step(938);
  v1::JobResult& result = *job.mutable_result();
  result.set_test_accuracy(0.9034);
  result.set_test_loss(0.28);
  result.add_replica_accuracy(0.9012);
  result.add_replica_accuracy(0.9021);
  result.add_train_loss(0.6);
  result.add_train_loss(0.2125);
  result.add_epoch_test_accuracy(0.85);
  result.set_samples_per_second(5000);
  result.set_train_seconds(98.5);
  result.set_sent_bytes_per_step(3448640);
  result.set_messages_per_step(4);
  result.set_comm_wait_ratio(0.03);
  result.set_consensus_distance(0.125);
  result.set_steps(938);
  result.set_epochs(10);
  result.set_parameter_norm(12.5);
  result.set_parameter_count(431080);
  result.set_model_checksum(0x0123456789abcdefull);
  (*result.mutable_phase_seconds())["forward"] = 30;
  (*result.mutable_phase_seconds())["backward"] = 60;
  return job;
}

}  // namespace gg
