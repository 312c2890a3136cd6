// SPDX-License-Identifier: Apache-2.0
#include "coordinator/daemon/flags.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "platform/listen.h"
#include "telemetry/build_version.h"

namespace gg {
namespace {

constexpr double kShortest = 0.05;  // below, threads are busy with nothing but heartbeats
constexpr double kLongest = 86400;

absl::Status CheckListen(const Flags& flags) {
  GG_RETURN_IF_ERROR(CheckListenAddress("--listen", flags.listen, flags.insecure));
  return CheckListenAddress("--http-listen", flags.http_listen, flags.insecure);
}

// Written so that "not a number" fails too.
absl::Status CheckRange(absl::string_view flag, double value, double least) {
  if (value >= least && value <= kLongest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " ", value, " is not in ", least, " .. ", kLongest, " seconds"));
}

absl::Status CheckTimes(const Flags& flags) {
  GG_RETURN_IF_ERROR(CheckRange("--lease-seconds", flags.lease_seconds, kShortest));
  GG_RETURN_IF_ERROR(CheckRange("--heartbeat-seconds", flags.heartbeat_seconds, kShortest));
  GG_RETURN_IF_ERROR(CheckRange("--settle-seconds", flags.settle_seconds, 0));
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
               "allow listening on other than loopback addresses, without encryption");
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
