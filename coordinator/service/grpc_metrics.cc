// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/grpc_metrics.h"

#include <grpcpp/support/server_interceptor.h>

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gossipgrad/v1/job_service.pb.h"
#include "gossipgrad/v1/worker_control.pb.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// One RPC. gRPC makes it when the call arrives.
class RpcCounter final : public grpc::experimental::Interceptor {
 public:
  RpcCounter(absl::string_view path, MetricSink* metrics, Clock* clock)
      : metrics_(metrics), clock_(clock), began_(clock->Now()) {
    absl::ConsumePrefix(&path, "/");
    const size_t slash = path.rfind('/');
    service_ = std::string(path.substr(0, slash));
    method_ = slash == absl::string_view::npos ? "" : std::string(path.substr(slash + 1));
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const std::string code = GoCodeName(methods->GetSendStatus().error_code());
      metrics_->Add(CounterId::kGrpcHandled, 1, {service_, method_, code});
      metrics_->Observe(HistogramId::kGrpcHandling, absl::ToDoubleSeconds(clock_->Now() - began_),
                        {service_, method_});
    }
    methods->Proceed();
  }

 private:
  MetricSink* const metrics_;
  Clock* const clock_;
  const absl::Time began_;
  std::string service_, method_;
};

class RpcCounterFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  RpcCounterFactory(MetricSink* metrics, Clock* clock) : metrics_(metrics), clock_(clock) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new RpcCounter(info->method(), metrics_, clock_);  // gRPC deletes it
  }

 private:
  MetricSink* const metrics_;
  Clock* const clock_;
};

}  // namespace

std::string GoCodeName(grpc::StatusCode code) {
  static constexpr const char* kNames[] = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "Unknown";
}

void CountRpcs(grpc::ServerBuilder* builder, MetricSink* metrics, Clock* clock) {
  for (const google::protobuf::FileDescriptor* file :
       {v1::SubmitJobRequest::descriptor()->file(), v1::WorkerMessage::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const google::protobuf::ServiceDescriptor& service = *file->service(s);
      for (int m = 0; m < service.method_count(); ++m) {
        metrics->Add(CounterId::kGrpcHandled, 0,
                     {service.full_name(), service.method(m)->name(), "OK"});
      }
    }
  }
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.push_back(std::make_unique<RpcCounterFactory>(metrics, clock));
  builder->experimental().SetInterceptorCreators(std::move(creators));
}

}  // namespace gg
