// SPDX-License-Identifier: Apache-2.0
#include "coordinator/daemon/flags.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "platform/host.h"
#include "telemetry/build_version.h"

namespace gg {
namespace {

absl::Status CheckListen(const Flags& flags) {
  for (const auto& [flag, value] :
       {std::pair<absl::string_view, absl::string_view>("--listen", flags.listen),
        {"--http-listen", flags.http_listen}}) {
    const absl::StatusOr<bool> loopback = IsLoopback(value);
    if (!loopback.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(flag, ": ", loopback.status().message()));
    }
    if (!*loopback && flag == "--listen" && !flags.insecure) {
      return absl::InvalidArgumentError(
          absl::StrCat("--listen ", value,
                       ": there is no TLS, anybody on the network could submit jobs; "
                       "listen on 127.0.0.1, or say --insecure to accept that"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTimes(const Flags& flags) {
  if (!(flags.lease_seconds > 0) || !(flags.heartbeat_seconds > 0) ||
      !(flags.settle_seconds >= 0)) {
    return absl::InvalidArgumentError(
        "--lease-seconds and --heartbeat-seconds must be above 0, --settle-seconds not below 0");
  }
  if (flags.heartbeat_seconds * 2 > flags.lease_seconds) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--heartbeat-seconds ", flags.heartbeat_seconds, " is more than half of --lease-seconds ",
        flags.lease_seconds, ": one late heartbeat would cost a worker its lease"));
  }
  return absl::OkStatus();
}

}  // namespace

std::variant<Flags, Leave> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  std::string format = "text";
  std::string level = "info";
  CLI::App app(
      "Coordinator of a GossipGraD cluster: accepts jobs, forms groups of workers, watches over "
      "them.",
      "gg-coordinator");
  app.add_option("--listen", flags.listen, "host:port of the gRPC services; port 0 = any")
      ->capture_default_str();
  app.add_option("--http-listen", flags.http_listen,
                 "host:port of /metrics, /livez and /readyz; port 0 = any")
      ->capture_default_str();
  app.add_option("--store", flags.store,
                 "file that keeps the jobs over restarts; :memory: = forget them at exit");
  app.add_option("--port-file", flags.port_file,
                 "file to write the addresses to, as JSON, when serving");
  app.add_option("--lease-seconds", flags.lease_seconds,
                 "a worker without a heartbeat for longer is lost")
      ->capture_default_str();
  app.add_option("--heartbeat-seconds", flags.heartbeat_seconds, "interval asked of workers")
      ->capture_default_str();
  app.add_option("--settle-seconds", flags.settle_seconds,
                 "a job with enough, but not all, of its workers waits for more until none has "
                 "come for so long")
      ->capture_default_str();
  app.add_option("--log-format", format, "text | json")->capture_default_str();
  app.add_option("--log-level", level, "debug | info | warning | error")->capture_default_str();
  app.add_flag("--insecure", flags.insecure,
               "allow --listen on other than loopback addresses, without encryption");
  app.set_version_flag("--version",
                       absl::StrCat("gg-coordinator ", std::string(SoftwareVersion())));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    return code == 0 ? Leave{kExitOk, out.str()} : Leave{kExitUsage, err.str()};
  }
  const absl::StatusOr<LogFormat> parsed_format = ParseLogFormat(format);
  const absl::StatusOr<LogLevel> parsed_level = ParseLogLevel(level);
  for (const absl::Status& status :
       {parsed_format.status(), parsed_level.status(), CheckListen(flags), CheckTimes(flags)}) {
    if (!status.ok()) {
      return Leave{kExitUsage, absl::StrCat("gg-coordinator: ", status.message(), "\n")};
    }
  }
  flags.log_format = *parsed_format;
  flags.log_level = *parsed_level;
  return flags;
}

}  // namespace gg
