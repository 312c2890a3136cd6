// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/grpc_metrics.h"

#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gossipgrad/v1/job_service.pb.h"
#include "gossipgrad/v1/worker_control.pb.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

struct Method {
  std::string service, name;
};
using Methods = std::map<std::string, Method, std::less<>>;  // by "/service/name"

void AddMethod(Methods* methods, const std::string& service, const std::string& name) {
  (*methods)["/" + service + "/" + name] = {service, name};
}

Methods OurMethods() {
  Methods methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::SubmitJobRequest::descriptor()->file(), v1::WorkerMessage::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const google::protobuf::ServiceDescriptor& service = *file->service(s);
      for (int m = 0; m < service.method_count(); ++m) {
        AddMethod(&methods, service.full_name(), service.method(m)->name());
      }
    }
  }
  return methods;
}

// One RPC. gRPC makes it when the call arrives.
class RpcCounter final : public grpc::experimental::Interceptor {
 public:
  RpcCounter(const Method& method, MetricSink* metrics, Clock* clock)
      : method_(method), metrics_(metrics), clock_(clock), began_(clock->Now()) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const std::string code = GoCodeName(methods->GetSendStatus().error_code());
      metrics_->Add(CounterId::kGrpcHandled, 1, {method_.service, method_.name, code});
      metrics_->Observe(HistogramId::kGrpcHandling, absl::ToDoubleSeconds(clock_->Now() - began_),
                        {method_.service, method_.name});
    }
    methods->Proceed();
  }

 private:
  const Method& method_;
  MetricSink* const metrics_;
  Clock* const clock_;
  const absl::Time began_;
};

class RpcCounterFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  RpcCounterFactory(Methods methods, MetricSink* metrics, Clock* clock)
      : methods_(std::move(methods)), metrics_(metrics), clock_(clock) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    // Calls of methods that nobody serves come here as well, and their names are the client's.
    const auto found = methods_.find(absl::string_view(info->method()));
    return new RpcCounter(found == methods_.end() ? unknown_ : found->second, metrics_,
                          clock_);  // gRPC deletes it
  }

 private:
  const Methods methods_;
  const Method unknown_ = {"unknown", "unknown"};
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
  Methods methods = OurMethods();
  for (const auto& [path, method] : methods) {
    metrics->Add(CounterId::kGrpcHandled, 0, {method.service, method.name, "OK"});
  }
  AddMethod(&methods, "grpc.health.v1.Health", "Check");
  AddMethod(&methods, "grpc.health.v1.Health", "Watch");
  AddMethod(&methods, "grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo");
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.push_back(std::make_unique<RpcCounterFactory>(std::move(methods), metrics, clock));
  builder->experimental().SetInterceptorCreators(std::move(creators));
}

}  // namespace gg
