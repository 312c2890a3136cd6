// SPDX-License-Identifier: Apache-2.0
#include "ggctl/client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/status.h"
#include "platform/host.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/version.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

// How long the second try waits for a connection that was refused or lost: a coordinator that was
// started a moment ago is there by then.
constexpr absl::Duration kReconnect = absl::Seconds(2);
constexpr absl::Duration kReconnectSlice = absl::Milliseconds(100);
constexpr int kFirstReconnectMs = 100;
constexpr int kMaxMessageBytes = 64 << 20;  // a list of many jobs

// Whether the server ended the call, rather than the connection to it. Nothing else that the client
// sees tells the two apart.
bool SentByServer(const grpc::ClientContext& context) {
  return absl::StrContains(context.debug_error_string(), "received from peer");
}

// gRPC's own text for a server that ends a call without a word is the name of the code.
bool SaysNothing(absl::string_view message) {
  return std::all_of(message.begin(), message.end(), [](char c) {
    return absl::ascii_isupper(static_cast<unsigned char>(c)) || c == '_';
  });
}

}  // namespace

JobClient::JobClient(const std::string& server, absl::Duration timeout)
    : server_(server), timeout_(timeout) {
  grpc::ChannelArguments arguments;
  // A proxy for the web must not be asked for a cluster's own address.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  channel_ = grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::JobService::NewStub(channel_);
}

JobClient::RunningCall::RunningCall(JobClient* client, grpc::ClientContext* context)
    : client_(client), context_(context) {
  MutexLock lock(&client_->mu_);
  started_ = !client_->shut_down_;
  if (started_) client_->running_.insert(context_);
}

JobClient::RunningCall::~RunningCall() {
  MutexLock lock(&client_->mu_);
  client_->running_.erase(context_);
}

void JobClient::Shutdown() {
  MutexLock lock(&mu_);
  shut_down_ = true;
  for (grpc::ClientContext* context : running_) context->TryCancel();
}

absl::Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context,
                      const std::string& server) {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && !SentByServer(context)) {
    message = absl::StrCat("cannot reach the coordinator at ", server, " (", message,
                           "); is it running? Name another with --server or GGCTL_SERVER");
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    message = absl::StrCat("the coordinator at ", server,
                           " did not answer in time; see --request-timeout");
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    message = absl::StrCat("the server at ", server,
                           " does not offer this call; is it a gg-coordinator of this version?");
  } else if (SaysNothing(message)) {
    message = absl::StrCat("the coordinator at ", server, " ended the call without a reason",
                           status.error_code() == grpc::StatusCode::CANCELLED
                               ? "; it may be shutting down"
                               : "; its log may tell more");
  }
  absl::Status out(static_cast<absl::StatusCode>(status.error_code()), message);
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto it = trailers.find(kViolationsKey); it != trailers.end()) {
    out.SetPayload(kViolationsKey,
                   absl::Cord(absl::string_view(it->second.data(), it->second.size())));
  }
  return out;
}

std::vector<FieldError> ViolationsOf(const absl::Status& status) {
  std::vector<FieldError> out;
  const auto payload = status.GetPayload(kViolationsKey);
  v1::FieldViolations violations;
  if (!payload.has_value() || !violations.ParseFromString(std::string(*payload))) return out;
  for (const v1::FieldViolation& violation : violations.violations()) {
    out.push_back({violation.field(), violation.description(), ""});
  }
  return out;
}

std::string NewRequestId() {
  return absl::StrCat(absl::Hex(UniqueBits(), absl::kZeroPad16),
                      absl::Hex(UniqueBits(), absl::kZeroPad16));
}

template <typename Request, typename Response>
absl::Status JobClient::CallOnce(
    grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
    grpc::ClientContext* context, const Request& request, Response* response) {
  const RunningCall running(this, context);
  if (!running.started()) return absl::CancelledError("the client was shut down");
  return FromGrpc(((*stub_).*method)(context, request, response), *context, server_);
}

// All calls are safe to repeat: reads, a submit with its request id, a cancel that changes nothing
// the second time.
template <typename Request, typename Response>
absl::Status JobClient::Call(grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*,
                                                                          const Request&,
                                                                          Response*),
                             const Request& request, Response* response) {
  const absl::Time deadline = absl::Now() + timeout_;
  absl::Status first;
  {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    first = CallOnce(method, &context, request, response);
    if (!absl::IsUnavailable(first)) return first;
  }
  // The wait for a connection has its own bound, the answer has the whole of the timeout: a submit
  // that was taken must not be called a failure because its commit took a moment.
  if (!WaitForConnection(std::min(deadline, absl::Now() + kReconnect))) return first;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  return CallOnce(method, &context, request, response);
}

bool JobClient::WaitForConnection(absl::Time deadline) {
  while (true) {
    {
      MutexLock lock(&mu_);
      if (shut_down_) return false;
    }
    const absl::Time now = absl::Now();
    if (now >= deadline) return false;
    if (channel_->WaitForConnected(absl::ToChronoTime(std::min(deadline, now + kReconnectSlice))))
      return true;
  }
}

absl::StatusOr<v1::Job> JobClient::Submit(const JobSpec& spec, const std::string& request_id,
                                          bool validate_only) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = ToProto(spec);
  request.set_request_id(request_id);
  request.set_validate_only(validate_only);
  v1::SubmitJobResponse response;
  GG_RETURN_IF_ERROR(Call(&v1::JobService::Stub::SubmitJob, request, &response));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> JobClient::Get(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  v1::GetJobResponse response;
  GG_RETURN_IF_ERROR(Call(&v1::JobService::Stub::GetJob, request, &response));
  return std::move(*response.mutable_job());
}

absl::StatusOr<std::vector<v1::Job>> JobClient::List() {
  v1::ListJobsResponse response;
  GG_RETURN_IF_ERROR(Call(&v1::JobService::Stub::ListJobs, v1::ListJobsRequest(), &response));
  return std::vector<v1::Job>(response.jobs().begin(), response.jobs().end());
}

absl::StatusOr<v1::Job> JobClient::Cancel(const std::string& name, const std::string& reason) {
  v1::CancelJobRequest request;
  request.set_name(name);
  request.set_reason(reason);
  v1::CancelJobResponse response;
  GG_RETURN_IF_ERROR(Call(&v1::JobService::Stub::CancelJob, request, &response));
  return std::move(*response.mutable_job());
}

absl::StatusOr<std::vector<v1::WorkerStatus>> JobClient::ListWorkers() {
  v1::ListWorkersResponse response;
  GG_RETURN_IF_ERROR(Call(&v1::JobService::Stub::ListWorkers, v1::ListWorkersRequest(), &response));
  return std::vector<v1::WorkerStatus>(response.workers().begin(), response.workers().end());
}

absl::StatusOr<v1::GetServerInfoResponse> JobClient::ServerInfo() {
  v1::GetServerInfoResponse response;
  GG_RETURN_IF_ERROR(
      Call(&v1::JobService::Stub::GetServerInfo, v1::GetServerInfoRequest(), &response));
  return response;
}

}  // namespace gg
