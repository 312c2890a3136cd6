// SPDX-License-Identifier: Apache-2.0
//
// Log lines of a daemon on stderr: one line per event, as text for people or as one JSON object for
// collectors.
//   log.Info("job begins", {{"train_job", name}, {"workers", "4"}});
//   2026-01-31T12:00:00.000Z info gg-worker: job begins train_job=lenet workers=4
//   {"time":"2026-01-31T12:00:00.000Z","level":"info","component":"gg-worker","message":"job
//   begins",...}
// Whatever a message or a value holds, a line stays one line; in JSON bytes that are not UTF-8 are
// replaced. Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_TELEMETRY_LOGGING_H_
#define GOSSIPGRAD_TELEMETRY_LOGGING_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/metrics/sink.h"

namespace gg {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

absl::string_view LogLevelName(LogLevel level);                  // "warning"
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name);  // kInvalidArgument lists the names
absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view name);  // text | json

using LogFields = std::initializer_list<std::pair<absl::string_view, std::string>>;

class Logger {
 public:
  virtual ~Logger() = default;
  virtual void Log(LogLevel level, absl::string_view message, LogFields fields = {}) = 0;

  void Debug(absl::string_view m, LogFields fields = {}) { Log(LogLevel::kDebug, m, fields); }
  void Info(absl::string_view m, LogFields fields = {}) { Log(LogLevel::kInfo, m, fields); }
  void Warning(absl::string_view m, LogFields fields = {}) { Log(LogLevel::kWarning, m, fields); }
  void Error(absl::string_view m, LogFields fields = {}) { Log(LogLevel::kError, m, fields); }
};

struct LoggerOptions {
  std::string component;  // name of the daemon
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;  // lines below are neither written nor counted
  MetricSink* metrics = nullptr;     // counts log_messages_total; must outlive the logger
  // Where finished lines (without a newline) go instead of stderr; for tests.
  std::function<void(absl::string_view)> write;
};

std::unique_ptr<Logger> MakeLogger(LoggerOptions options);

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_LOGGING_H_
