// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/status.h"
#include "core/worker_id.h"
#include "platform/cpu_quota.h"
#include "platform/host.h"
#include "platform/listen.h"
#include "telemetry/build_version.h"
#include "telemetry/metrics_markdown.h"

namespace gg {
namespace {

// The host's name and something that tells two workers on it apart.
std::string DefaultWorkerId() {
  return absl::StrCat(HostName(), "-",
                      absl::Hex(static_cast<uint32_t>(UniqueBits()), absl::kZeroPad8));
}

absl::Status Check(const WorkerFlags& flags) {
  const absl::StatusOr<HostPort> coordinator = ParseHostPort(flags.coordinator);
  if (!coordinator.ok()) return Annotate(coordinator.status(), "--coordinator");
  if (coordinator->port == 0) {
    return absl::InvalidArgumentError(absl::StrCat("--coordinator ", flags.coordinator,
                                                   ": 0 is no port that anybody listens on"));
  }
  GG_RETURN_IF_ERROR(CheckListenAddress("--listen", flags.listen, flags.insecure));
  return CheckListenAddress("--http-listen", flags.http_listen, flags.insecure);
}

}  // namespace

absl::StatusOr<WorkerFlags> ParseWorkerFlags(int argc, const char* const* argv) {
  WorkerFlags flags;
  double timeout_seconds = absl::ToDoubleSeconds(flags.coordinator_timeout);
  std::string log_format = "text", log_level = "info";
  bool version = false, metrics_markdown = false;
  std::vector<std::string> topology;
  CLI::App app(
      "Trains one replica of a job: registers with the coordinator, waits for work, exchanges with "
      "its "
      "partners.",
      "gg-worker");
  app.add_option("--coordinator", flags.coordinator, "HOST:PORT of gg-coordinator");
  app.add_option("--worker-id", flags.worker_id,
                 "name that stays the same over restarts (default: host name and a random suffix)");
  app.add_option("--listen", flags.listen, "HOST:PORT for other workers; port 0 = any free one")
      ->capture_default_str();
  app.add_option("--advertise-host", flags.advertise_host,
                 "host that other workers are told to use (default: that of --listen)");
  app.add_option("--http-listen", flags.http_listen, "HOST:PORT of /metrics, /livez and /readyz")
      ->capture_default_str();
  app.add_option("--threads", flags.threads,
                 "compute threads; 0 = what affinity and CPU quota allow")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096));
  app.add_option("--device", flags.device,
                 "auto, reference or onednn; a job's own wish comes first")
      ->capture_default_str();
  app.add_option("--port-file", flags.port_file, "file to write the addresses to, as JSON");
  app.add_option("--topology", topology,
                 "NAME=VALUE that says where this worker stands, for schedule hierarchical: rack=3 "
                 "(repeatable; host is the host's name unless given)")
      ->allow_extra_args(false);
  app.add_option("--coordinator-timeout-seconds", timeout_seconds,
                 "how long the coordinator may be away before the worker gives up")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("--log-format", log_format, "text or json")->capture_default_str();
  app.add_option("--log-level", log_level, "debug, info, warning or error")->capture_default_str();
  app.add_flag("--insecure", flags.insecure,
               "allow listening beyond this machine without encryption and authentication");
  app.add_flag("--version", version, "print the version");
  app.add_flag("--print-metrics-markdown", metrics_markdown,
               "print the table of metrics as Markdown");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    flags.print_and_exit = app.help();
    return flags;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), " (gg-worker --help lists the flags)"));
  }
  if (version) {
    flags.print_and_exit = absl::StrCat("gg-worker ", SoftwareVersion(), "\n");
    return flags;
  }
  if (metrics_markdown) {
    flags.print_and_exit = MetricsMarkdown();
    return flags;
  }
  if (flags.coordinator.empty()) {
    return absl::InvalidArgumentError("--coordinator HOST:PORT is required");
  }
  flags.coordinator_timeout = absl::Seconds(timeout_seconds);
  GG_ASSIGN_OR_RETURN(flags.log_format, ParseLogFormat(log_format));
  GG_ASSIGN_OR_RETURN(flags.log_level, ParseLogLevel(log_level));
  if (flags.worker_id.empty()) flags.worker_id = DefaultWorkerId();
  if (const absl::Status id = CheckWorkerId(flags.worker_id); !id.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--worker-id: ", id.message()));
  }
  for (const std::string& label : topology) {
    GG_RETURN_IF_ERROR(Annotate(AddTopologyLabel(label, flags.topology), "--topology"));
  }
  if (flags.threads == 0) flags.threads = UsableCpus();
  GG_RETURN_IF_ERROR(Check(flags));
  return flags;
}

}  // namespace gg
