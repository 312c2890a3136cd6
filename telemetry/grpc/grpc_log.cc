// SPDX-License-Identifier: Apache-2.0
//
// gRPC up to 1.64 has a log of its own with one process-wide function; later versions write through
// Abseil's log. This file is the only one that knows the difference.
#include "telemetry/grpc/grpc_log.h"

#include <grpcpp/version_info.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#if GRPC_CPP_VERSION_MAJOR > 1 || GRPC_CPP_VERSION_MINOR >= 65
#include <absl/base/log_severity.h>
#include <absl/log/globals.h>
#include <absl/log/log_entry.h>
#include <absl/log/log_sink.h>
#include <absl/log/log_sink_registry.h>
#define GG_GRPC_LOGS_BY_ABSEIL 1
#else
#include <grpc/support/log.h>

#include <cstdio>

#include "absl/time/time.h"
#include "core/clock.h"
#include "core/sync.h"
#define GG_GRPC_LOGS_BY_ABSEIL 0
#endif

namespace gg {
namespace {

void Write(Logger& log, LogLevel level, absl::string_view file, int line,
           absl::string_view message) {
  if (const size_t slash = file.rfind('/'); slash != absl::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  log.Log(level, message, {{"source", "grpc"}, {"at", absl::StrCat(file, ":", line)}});
}

#if GG_GRPC_LOGS_BY_ABSEIL

class AbseilRoute final : public GrpcLog, private absl::LogSink {
 public:
  explicit AbseilRoute(Logger& log) : log_(log), stderr_was_(absl::StderrThreshold()) {
    absl::AddLogSink(this);
    absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);  // said once is enough
  }
  ~AbseilRoute() override {
    absl::SetStderrThreshold(stderr_was_);
    absl::RemoveLogSink(this);  // waits for Send
  }

 private:
  void Send(const absl::LogEntry& entry) override {
    const LogLevel level = entry.log_severity() >= absl::LogSeverity::kError ? LogLevel::kError
                           : entry.log_severity() == absl::LogSeverity::kWarning
                               ? LogLevel::kWarning
                               : LogLevel::kInfo;
    Write(log_, level, entry.source_filename(), entry.source_line(), entry.text_message());
  }

  Logger& log_;
  const absl::LogSeverityAtLeast stderr_was_;
};

#else

// What gRPC's function, which takes no argument of ours, finds its logger by.
struct Target {
  Monitor monitor;
  Logger* log ABSL_GUARDED_BY(monitor.mu) = nullptr;
  int writing ABSL_GUARDED_BY(monitor.mu) = 0;  // lines under way into *log
};

Target& TheTarget() {
  static Target& target = *new Target;  // gRPC's threads may outlive main()
  return target;
}

void OnLine(gpr_log_func_args* line) {
  Target& target = TheTarget();
  Logger* log = nullptr;
  {
    MutexLock lock(&target.monitor.mu);
    log = target.log;
    if (log != nullptr) ++target.writing;
  }
  if (log == nullptr) {
    std::fprintf(stderr, "%s:%d: %s\n", line->file, line->line, line->message);
    return;
  }
  const LogLevel level = line->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kError
                         : line->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                   : LogLevel::kDebug;
  Write(*log, level, line->file, line->line, line->message);
  MutexLock lock(&target.monitor.mu);
  --target.writing;
  target.monitor.changed.NotifyAll();
}

class GprRoute final : public GrpcLog {
 public:
  explicit GprRoute(Logger& log) : log_(log) {
    Target& target = TheTarget();
    {
      MutexLock lock(&target.monitor.mu);
      target.log = &log_;
    }
    gpr_set_log_function(&OnLine);
  }

  ~GprRoute() override {
    Target& target = TheTarget();
    MutexLock lock(&target.monitor.mu);
    if (target.log == &log_) {
      gpr_set_log_function(nullptr);  // its own again
      target.log = nullptr;
    }
    RealClock().Await(
        target.monitor, [&target]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return target.writing == 0; },
        absl::InfiniteFuture());
  }

 private:
  Logger& log_;
};

#endif

}  // namespace

std::unique_ptr<GrpcLog> GrpcLog::RouteTo(Logger& log) {
#if GG_GRPC_LOGS_BY_ABSEIL
  return std::make_unique<AbseilRoute>(log);
#else
  return std::make_unique<GprRoute>(log);
#endif
}

}  // namespace gg
