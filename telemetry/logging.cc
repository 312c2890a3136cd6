// SPDX-License-Identifier: Apache-2.0
#include "telemetry/logging.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace gg {
namespace {

std::string Timestamp() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
}

// Control characters would break the line or fool a terminal.
std::string OneLine(absl::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return absl::Utf8SafeCEscape(text);
  }
  return std::string(text);
}

// Bare when it reads as one word, else in quotes.
std::string TextValue(absl::string_view value) {
  if (!value.empty() && value.find_first_of(" \"=") == absl::string_view::npos) {
    return OneLine(value);
  }
  return absl::StrCat("\"", absl::Utf8SafeCEscape(value), "\"");
}

class LineLogger final : public Logger {
 public:
  explicit LineLogger(LoggerOptions options)
      : options_(std::move(options)),
        spdlog_(options_.component, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    spdlog_.set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
    spdlog_.set_level(spdlog::level::trace);  // levels are handled here, where lines are counted
    spdlog_.flush_on(spdlog::level::trace);
  }

  void Log(LogLevel level, absl::string_view message, LogFields fields) override {
    if (level < options_.level) return;
    if (options_.metrics != nullptr) {
      options_.metrics->Add(CounterId::kLogMessages, 1, LogLevelName(level));
    }
    const std::string line = options_.format == LogFormat::kJson ? Json(level, message, fields)
                                                                 : Text(level, message, fields);
    if (options_.write) {
      options_.write(line);
    } else {
      spdlog_.log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    }
  }

 private:
  std::string Text(LogLevel level, absl::string_view message, LogFields fields) const {
    std::string line = absl::StrCat(Timestamp(), " ", LogLevelName(level), " ", options_.component,
                                    ": ", OneLine(message));
    for (const auto& [key, value] : fields) absl::StrAppend(&line, " ", key, "=", TextValue(value));
    return line;
  }

  std::string Json(LogLevel level, absl::string_view message, LogFields fields) const {
    nlohmann::ordered_json line;
    line["time"] = Timestamp();
    line["level"] = std::string(LogLevelName(level));
    line["component"] = options_.component;
    line["message"] = std::string(message);
    for (const auto& [key, value] : fields) line[std::string(key)] = value;
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  const LoggerOptions options_;
  spdlog::logger spdlog_;
};

}  // namespace

absl::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (name == LogLevelName(level)) return level;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("log level '", name, "' is none of debug, info, warning, error"));
}

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view name) {
  if (name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return absl::InvalidArgumentError(
      absl::StrCat("log format '", name, "' is neither text nor json"));
}

std::unique_ptr<Logger> MakeLogger(LoggerOptions options) {
  return std::make_unique<LineLogger>(std::move(options));
}

}  // namespace gg
