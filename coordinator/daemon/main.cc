// SPDX-License-Identifier: Apache-2.0
//
// gg-coordinator: the composition root.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/daemon/flags.h"
#include "coordinator/service/server.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sqlite_store.h"
#include "core/clock.h"
#include "core/status.h"
#include "platform/host.h"
#include "telemetry/build_version.h"
#include "telemetry/grpc/grpc_log.h"
#include "telemetry/http_server.h"
#include "telemetry/logging.h"
#include "telemetry/port_file.h"
#include "telemetry/prometheus_sink.h"

namespace gg {
namespace {

// All streams have been ended before; what is left is clients that hold an idle connection, some of
// which look at it every few seconds only.
constexpr absl::Duration kGrace = absl::Milliseconds(500);

absl::StatusOr<std::unique_ptr<JobStore>> OpenStore(const std::string& path, Logger& log) {
  if (!path.empty() && path != ":memory:") {
    SqliteStoreOptions options;
    options.path = path;
    return OpenSqliteStore(options);
  }
  if (path.empty()) {
    log.Warning("no --store: jobs are kept in memory and forgotten when this process ends");
  }
  return MakeMemoryStore();
}

ServerOptions MakeServerOptions(const Flags& flags, Logger& log) {
  ServerOptions options;
  options.listen = flags.listen;
  options.software_version = std::string(SoftwareVersion());
  options.loop.entropy = UniqueBits();
  options.loop.coordinator_id =
      absl::StrCat("c-", absl::Hex(UniqueBits() & 0xffffffffffff, absl::kZeroPad12));
  options.loop.cluster.lease = absl::Seconds(flags.lease_seconds);
  options.loop.cluster.heartbeat = absl::Seconds(flags.heartbeat_seconds);
  options.loop.cluster.settle = absl::Seconds(flags.settle_seconds);
  options.loop.log = [&log](bool warning, absl::string_view line) {
    log.Log(warning ? LogLevel::kWarning : LogLevel::kInfo, line);
  };
  return options;
}

// SIGTERM and SIGINT wait for sigwait below; blocked before any thread starts, so that no thread
// gets them.
sigset_t BlockSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

int ExitCode(const absl::Status& status) {
  return absl::IsUnavailable(status) ? kExitUnavailable : kExitStore;
}

int Serve(const Flags& flags) {
  const sigset_t signals = BlockSignals();
  const std::unique_ptr<PrometheusSink> metrics = PrometheusSink::Make(MetricSide::kCoordinator);
  LoggerOptions log_options;
  log_options.component = "gg-coordinator";
  log_options.format = flags.log_format;
  log_options.level = flags.log_level;
  log_options.metrics = metrics.get();
  const std::unique_ptr<Logger> log = MakeLogger(std::move(log_options));
  const std::unique_ptr<GrpcLog> grpc_log = GrpcLog::RouteTo(*log);

  absl::StatusOr<std::unique_ptr<JobStore>> store = OpenStore(flags.store, *log);
  if (!store.ok()) {
    log->Error(store.status().message());
    return kExitStore;
  }
  const absl::StatusOr<std::unique_ptr<CoordinatorServer>> server = StartCoordinator(
      MakeServerOptions(flags, *log), *std::move(store), &RealClock(), metrics.get());
  if (!server.ok()) {
    log->Error(server.status().message());
    return ExitCode(server.status());
  }
  HttpServerOptions http_options;
  http_options.listen = flags.http_listen;
  http_options.metrics = [&](MetricsFormat format) { return metrics->Text(format); };
  http_options.live = [&] { return (*server)->Live(); };
  http_options.ready = [&] { return (*server)->Ready(); };
  const absl::StatusOr<std::unique_ptr<HttpServer>> http = StartHttpServer(std::move(http_options));
  if (!http.ok()) {
    log->Error(Annotate(http.status(), "--http-listen").message());
    return kExitUnavailable;
  }
  log->Info("serving", {{"grpc", (*server)->address()},
                        {"http", (*http)->address()},
                        {"version", std::string(SoftwareVersion())}});
  if (!flags.port_file.empty()) {
    const absl::Status written = WritePortFile(
        flags.port_file, {{"grpc", (*server)->address()}, {"http", (*http)->address()}});
    if (!written.ok()) {
      log->Error(written.message());
      return kExitUsage;
    }
  }
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  log->Info("going down", {{"signal", signal_number == SIGTERM ? "SIGTERM" : "SIGINT"}});
  (*server)->Shutdown(kGrace);
  return kExitOk;
}

int Main(int argc, char** argv) {
  const std::variant<Flags, Leave> parsed = ParseFlags(argc, argv);
  if (const auto* leave = std::get_if<Leave>(&parsed)) {
    std::fputs(leave->text.c_str(), leave->code == kExitOk ? stdout : stderr);
    return leave->code;
  }
  return Serve(std::get<Flags>(parsed));
}

}  // namespace
}  // namespace gg

int main(int argc, char** argv) {
  try {
    return gg::Main(argc, argv);
  } catch (const std::exception& error) {  // a library's: ours does not throw
    std::fprintf(stderr, "gg-coordinator: bug: %s\n", error.what());
    return gg::kExitBug;
  }
}
