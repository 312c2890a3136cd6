// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/service/grpc_metrics.h"
#include "coordinator/service/job_service.h"
#include "coordinator/service/worker_stream.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr int kMaxMessageBytes = 4 << 20;  // a job specification is a few KB
constexpr int kStreamsPerConnection = 1024;

// The serving status that the health service shows; the loop thread may speak before the server is
// there.
class HealthBoard {
 public:
  void Attach(grpc::HealthCheckServiceInterface* health) {
    MutexLock lock(&mu_);
    health_ = health;
    Show();
  }
  void Set(bool ready) {
    MutexLock lock(&mu_);
    ready_ = ready;
    Show();
  }

 private:
  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (health_ != nullptr) health_->SetServingStatus("ready", ready_);
  }
  Mutex mu_;
  grpc::HealthCheckServiceInterface* health_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool ready_ ABSL_GUARDED_BY(mu_) = false;
};

class Server final : public CoordinatorServer {
 public:
  Server(ServerOptions options, std::unique_ptr<JobStore> store, Clock* clock, MetricSink* metrics)
      : listen_(options.listen),
        loop_(WithHealth(std::move(options.loop)), std::move(store), clock, metrics),
        jobs_(&loop_, options.software_version),
        workers_(&loop_),
        clock_(clock),
        metrics_(metrics) {}

  ~Server() override { Shutdown(absl::Seconds(1)); }

  absl::Status Start() {
    GG_RETURN_IF_ERROR(loop_.Start());
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(listen_, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&jobs_);
    builder.RegisterService(&workers_);
    CountRpcs(&builder, metrics_, clock_);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    // A second coordinator on the same port must fail, not share its connections.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    // Workers and clients look after their connections every few seconds; that is no abuse.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      return absl::UnavailableError(absl::StrCat(
          "cannot listen on ", listen_,
          ": the address must be of this machine and the port free (another coordinator?)"));
    }
    address_ = absl::StrCat(listen_.substr(0, listen_.rfind(':')), ":", port);
    health_.Attach(server_->GetHealthCheckService());
    return absl::OkStatus();
  }

  std::string address() const override { return address_; }
  absl::Status Live() const override { return loop_.Live(); }
  absl::Status Ready() const override { return loop_.Ready(); }

  void Shutdown(absl::Duration grace) override {
    loop_.Stop();
    MutexLock lock(&shutdown_mu_);
    if (server_ == nullptr || is_shut_down_) return;
    is_shut_down_ = true;
    server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
  }

 private:
  LoopOptions WithHealth(LoopOptions options) {
    options.on_ready = [this](bool ready) { health_.Set(ready); };
    return options;
  }

  const std::string listen_;
  HealthBoard health_;
  CoordinatorLoop loop_;
  JobServiceImpl jobs_;
  WorkerControlService workers_;
  Clock* const clock_;
  MetricSink* const metrics_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  Mutex shutdown_mu_;
  bool is_shut_down_ ABSL_GUARDED_BY(shutdown_mu_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorServer>> StartCoordinator(ServerOptions options,
                                                                    std::unique_ptr<JobStore> store,
                                                                    Clock* clock,
                                                                    MetricSink* metrics) {
  auto server = std::make_unique<Server>(std::move(options), std::move(store), clock, metrics);
  GG_RETURN_IF_ERROR(server->Start());
  return std::unique_ptr<CoordinatorServer>(std::move(server));
}

}  // namespace gg
