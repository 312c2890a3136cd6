// SPDX-License-Identifier: Apache-2.0
#include "telemetry/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/metrics/sink.h"

namespace gg {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class CountingSink : public MetricSink {
 public:
  void Add(CounterId id, double amount, LabelValues labels) override {
    if (id == CounterId::kLogMessages) counts[std::string(labels.values().at(0))] += amount;
  }
  void Set(GaugeId, double, LabelValues) override {}
  void Observe(HistogramId, double, LabelValues) override {}
  std::map<std::string, double> counts;
};

struct Captured {
  explicit Captured(LogFormat format, LogLevel level = LogLevel::kInfo) {
    LoggerOptions options;
    options.component = "gg-test";
    options.format = format;
    options.level = level;
    options.metrics = &sink;
    options.write = [this](absl::string_view line) { lines.emplace_back(line); };
    log = MakeLogger(std::move(options));
  }
  CountingSink sink;
  std::vector<std::string> lines;
  std::unique_ptr<Logger> log;
};

TEST(Logging, TextLineHasLevelComponentMessageAndFields) {
  Captured captured(LogFormat::kText);
  captured.log->Warning("partner is late", {{"partner", "w3"}, {"reason", "no answer in 5 s"}});
  ASSERT_EQ(captured.lines.size(), 1u);
  EXPECT_THAT(
      captured.lines[0],
      EndsWith("Z warning gg-test: partner is late partner=w3 reason=\"no answer in 5 s\""));
}

TEST(Logging, TextStaysOneLineWhateverItHolds) {
  Captured captured(LogFormat::kText);
  captured.log->Error("bad\nthing\x1b[31m", {{"detail", "a\r\nb"}, {"quote", "\""}, {"empty", ""}});
  ASSERT_EQ(captured.lines.size(), 1u);
  EXPECT_THAT(captured.lines[0], Not(HasSubstr("\n")));
  EXPECT_THAT(captured.lines[0], Not(HasSubstr("\r")));
  EXPECT_THAT(captured.lines[0], Not(HasSubstr("\x1b")));
  EXPECT_THAT(captured.lines[0], HasSubstr("empty=\"\""));
}

TEST(Logging, JsonSurvivesQuotesNewlinesAndBytesThatAreNotUtf8) {
  Captured captured(LogFormat::kJson);
  const std::string nasty = "say \"hi\"\n\t\\ \x01 \xff\xfe ü";
  captured.log->Info(nasty, {{"path", "C:\\x\n"}});
  ASSERT_EQ(captured.lines.size(), 1u);
  EXPECT_THAT(captured.lines[0], Not(HasSubstr("\n")));
  const auto parsed = nlohmann::json::parse(captured.lines[0], nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(parsed.is_discarded()) << captured.lines[0];
  EXPECT_EQ(parsed["level"], "info");
  EXPECT_EQ(parsed["component"], "gg-test");
  EXPECT_EQ(parsed["path"], "C:\\x\n");
  EXPECT_THAT(parsed["message"].get<std::string>(), HasSubstr("say \"hi\"\n"));
}

TEST(Logging, LinesBelowTheLevelAreNeitherWrittenNorCounted) {
  Captured captured(LogFormat::kText, LogLevel::kWarning);
  captured.log->Info("quiet");
  captured.log->Warning("loud");
  captured.log->Error("louder");
  EXPECT_EQ(captured.lines.size(), 2u);
  EXPECT_EQ(captured.sink.counts, (std::map<std::string, double>{{"warning", 1}, {"error", 1}}));
}

TEST(Logging, NamesAreParsedAndWrongOnesListThePossible) {
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_THAT(std::string(ParseLogLevel("loud").status().message()), HasSubstr("warning"));
  EXPECT_THAT(std::string(ParseLogFormat("xml").status().message()), HasSubstr("json"));
}

}  // namespace
}  // namespace gg
