// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/worker_daemon.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/status.h"
#include "kernels/device.h"
#include "platform/host.h"
#include "telemetry/build_version.h"
#include "telemetry/grpc/grpc_log.h"
#include "telemetry/http_server.h"
#include "telemetry/logging.h"
#include "telemetry/port_file.h"
#include "telemetry/prometheus_sink.h"
#include "worker/control/agent.h"
#include "worker/daemon/job_runner.h"
#include "worker/transport/grpc/grpc_transport.h"

namespace gg {
namespace {

// Together below the three seconds that a supervisor is promised.
constexpr absl::Duration kGoodBye = absl::Milliseconds(500);
constexpr absl::Duration kJobEnd = absl::Milliseconds(2000);

int ExitCodeOfRefusal(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kUnavailable:
      return kExitNoCoordinator;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitPermission;
    default:
      return kExitBadConfig;
  }
}

class Daemon final : public WorkerDaemon, private ControlHandler {
 public:
  explicit Daemon(const WorkerFlags& flags)
      : flags_(flags), metrics_(PrometheusSink::Make(MetricSide::kWorker, flags.worker_id)) {
    LoggerOptions options;
    options.component = "gg-worker";
    options.format = flags.log_format;
    options.level = flags.log_level;
    options.metrics = metrics_.get();
    log_ = MakeLogger(std::move(options));
    grpc_log_ = GrpcLog::RouteTo(*log_);
  }

  ~Daemon() override {
    http_ = nullptr;  // no more questions
    std::unique_ptr<Agent> agent;
    {
      MutexLock lock(&agent_mu_);
      agent = std::move(agent_);
    }
    agent = nullptr;    // no more orders
    runner_ = nullptr;  // no more work
  }

  absl::Status Open(int& exit_code) {
    auto device = MakeDevice(flags_.device, {.threads = flags_.threads});
    if (!device.ok()) {
      exit_code =
          device.status().code() == absl::StatusCode::kUnavailable ? kExitNoDevice : kExitBadConfig;
      return Annotate(device.status(), "--device");
    }
    const std::string device_name((*device)->name());
    absl::Status opened = OpenListeners();
    if (!opened.ok()) {
      exit_code = opened.code() == absl::StatusCode::kUnavailable ? kExitTemporary : kExitBadConfig;
      return opened;
    }
    JobRunnerParts parts;
    parts.worker_id = flags_.worker_id;
    parts.device_name = flags_.device;
    parts.device = *std::move(device);
    parts.threads = flags_.threads;
    parts.transport = transport_.get();
    parts.metrics = metrics_.get();
    parts.log = log_.get();
    parts.clock = &RealClock();
    parts.send = [this](gossipgrad::v1::WorkerMessage message) { Send(std::move(message)); };
    runner_ = std::make_unique<JobRunner>(std::move(parts));
    if (!flags_.port_file.empty()) {
      const absl::Status written =
          WritePortFile(flags_.port_file,
                        {{"http", http_->address()}, {"transport", transport_->local_address()}});
      if (!written.ok()) {
        exit_code = kExitBadConfig;
        return written;
      }
    }
    metrics_->Set(GaugeId::kWorkerInfo, 1,
                  {SoftwareVersion(), device_name, transport_->name(), host_});
    log_->Info("worker starts", {{"worker", flags_.worker_id},
                                 {"version", std::string(SoftwareVersion())},
                                 {"pid", absl::StrCat(getpid())},
                                 {"device", device_name},
                                 {"threads", absl::StrCat(flags_.threads)},
                                 {"transport", transport_->local_address()},
                                 {"http", http_->address()},
                                 {"coordinator", flags_.coordinator}});
    StartAgent(device_name);
    return absl::OkStatus();
  }

  int Run() override {
    std::string reason;
    int code = 0;
    {
      MutexLock lock(&monitor_.mu);
      RealClock().Await(
          monitor_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return exit_.has_value(); },
          absl::InfiniteFuture());
      code = exit_->first;
      reason = exit_->second;
    }
    log_->Info("worker ends", {{"reason", reason}, {"exit_code", absl::StrCat(code)}});
    const absl::Time begin = RealClock().Now();
    agent_->Leave(reason, begin + kGoodBye);
    if (!runner_->Shutdown(reason, begin + kGoodBye + kJobEnd)) {
      log_->Warning("the job did not end in time: leaving without it");
      std::_Exit(code);
    }
    return code;
  }

  void RequestExit(int code, std::string reason) override {
    MutexLock lock(&monitor_.mu);
    if (!exit_.has_value()) exit_.emplace(code, std::move(reason));
    monitor_.changed.NotifyAll();
  }

 private:
  absl::Status OpenListeners() {
    GrpcTransportOptions options;
    options.listen = flags_.listen;
    options.advertise_host = flags_.advertise_host;
    GG_ASSIGN_OR_RETURN(transport_, MakeGrpcTransport(options));
    HttpServerOptions http;
    http.listen = flags_.http_listen;
    http.metrics = [this](MetricsFormat format) { return metrics_->Text(format); };
    http.live = [] { return absl::OkStatus(); };
    http.ready = [this] { return Ready(); };
    GG_ASSIGN_OR_RETURN(http_, StartHttpServer(std::move(http)));
    return absl::OkStatus();
  }

  void StartAgent(const std::string& device_name) {
    AgentOptions options;
    options.coordinator = flags_.coordinator;
    options.timeout = flags_.coordinator_timeout;
    auto& hello = options.registration;
    hello.set_software_version(std::string(SoftwareVersion()));
    hello.set_worker_id(flags_.worker_id);
    hello.set_incarnation(static_cast<uint64_t>(absl::ToUnixNanos(absl::Now())));
    hello.set_host(host_);
    hello.set_pid(getpid());
    hello.set_address(transport_->local_address());
    hello.set_transport(std::string(transport_->name()));
    hello.set_device(device_name);
    hello.set_cpu_threads(flags_.threads);
    hello.mutable_topology()->insert(flags_.topology.begin(), flags_.topology.end());
    // The first orders may come before this is done: Send() waits for it.
    MutexLock lock(&agent_mu_);
    agent_ = Agent::Start(std::move(options), *this, RealClock(), *metrics_);
  }

  void Send(gossipgrad::v1::WorkerMessage message) {
    MutexLock lock(&agent_mu_);
    if (agent_ != nullptr) agent_->Send(std::move(message));
  }

  absl::Status Ready() {
    MutexLock lock(&agent_mu_);
    if (agent_ != nullptr && agent_->connected()) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("not registered with coordinator ", flags_.coordinator));
  }

  // ControlHandler
  void OnRegistered(const gossipgrad::v1::Registered& registered) override {
    log_->Info("registered", {{"coordinator", flags_.coordinator},
                              {"coordinator_id", registered.coordinator_id()},
                              {"lease_seconds", absl::StrCat(registered.lease_seconds())}});
  }
  void OnAssign(const gossipgrad::v1::Assign& assign) override { runner_->Assign(assign); }
  void OnBegin(const gossipgrad::v1::Begin& begin) override { runner_->Begin(begin); }
  void OnStop(const gossipgrad::v1::Stop& stop) override { runner_->Stop(stop); }
  void OnDisconnected(const absl::Status& why) override {
    log_->Warning("control stream broke, trying again", {{"reason", std::string(why.message())}});
  }
  void OnGivenUp(const absl::Status& why) override {
    log_->Error("no coordinator", {{"reason", std::string(why.message())}});
    RequestExit(ExitCodeOfRefusal(why), std::string(why.message()));
  }

  // In order of construction.
  const WorkerFlags flags_;
  const std::string host_ = HostName();
  std::unique_ptr<PrometheusSink> metrics_;
  std::unique_ptr<Logger> log_;
  std::unique_ptr<GrpcLog> grpc_log_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<JobRunner> runner_;
  Mutex agent_mu_;
  std::unique_ptr<Agent> agent_;  // set once, under agent_mu_
  std::unique_ptr<HttpServer> http_;

  Monitor monitor_;
  std::optional<std::pair<int, std::string>> exit_ ABSL_GUARDED_BY(monitor_.mu);
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerDaemon>> WorkerDaemon::Start(const WorkerFlags& flags,
                                                                  int& exit_code) {
  auto daemon = std::make_unique<Daemon>(flags);
  GG_RETURN_IF_ERROR(daemon->Open(exit_code));
  return daemon;
}

}  // namespace gg
