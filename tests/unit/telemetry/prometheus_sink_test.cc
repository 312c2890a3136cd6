// SPDX-License-Identifier: Apache-2.0
#include "telemetry/prometheus_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The value of the one series that begins with `series`; NaN when there is none or several.
double Value(const std::string& text, absl::string_view series) {
  double value = std::numeric_limits<double>::quiet_NaN();
  int found = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, series)) continue;
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, "} ");
    if (absl::SimpleAtod(parts.second, &value)) ++found;
  }
  return found == 1 ? value : std::numeric_limits<double>::quiet_NaN();
}

int SeriesCount(const std::string& text) {
  int count = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty()))
    count += line[0] != '#';
  return count;
}

TEST(PrometheusSink, CountersOfAJobBeginAtZeroAndAddUp) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("lenet");
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{train_job=\"lenet\",worker=\"w0\""), 0);
  EXPECT_EQ(Value(sink->Text(),
                  "gossipgrad_step_phase_seconds_total{phase=\"comm_wait\",train_job=\"lenet\""),
            0);
  sink->Add(CounterId::kSteps, 2);
  sink->Add(CounterId::kSteps, 3);
  sink->Set(GaugeId::kLoss, 1.5);
  sink->Observe(HistogramId::kStepDuration, 0.02);
  const std::string text = sink->Text();
  EXPECT_EQ(Value(text, "gossipgrad_steps_total{"), 5);
  EXPECT_EQ(Value(text, "gossipgrad_loss{"), 1.5);
  EXPECT_EQ(Value(text, "gossipgrad_step_duration_seconds_count{"), 1);
  EXPECT_EQ(Value(text, "gossipgrad_step_duration_seconds_sum{"), 0.02);
}

TEST(PrometheusSink, RefusesAmountsThatWouldLowerACounter) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("a");
  sink->Add(CounterId::kSteps, 1);
  sink->Add(CounterId::kSteps, -5);
  sink->Add(CounterId::kSteps, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{"), 1);
}

TEST(PrometheusSink, NumberOfSeriesStaysFlatOverThousandJobs) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  int first = 0;
  for (int job = 0; job < 1000; ++job) {
    sink->BeginJob(absl::StrCat("job-", job));
    sink->Add(CounterId::kGossipSkipped, 1, "of a new kind");
    sink->Set(GaugeId::kLoss, job);
    if (job == 0) first = SeriesCount(sink->Text());
  }
  EXPECT_EQ(SeriesCount(sink->Text()), first);
  EXPECT_THAT(sink->Text(), Not(HasSubstr("job-0\"")));
  EXPECT_LE(first, 110);  // the budget of one worker
}

TEST(PrometheusSink, SeriesOfAJobEndWithItAndLateNumbersDoNotBringThemBack) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("gone");
  sink->Add(CounterId::kSteps, 7);
  sink->EndJob();
  sink->Add(CounterId::kSteps, 1);
  sink->Set(GaugeId::kLoss, 1);
  EXPECT_THAT(sink->Text(), Not(HasSubstr("gone")));
  EXPECT_THAT(sink->Text(), Not(HasSubstr("gossipgrad_steps_total{")));
  sink->BeginJob("next");
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{train_job=\"next\""), 0);
}

TEST(PrometheusSink, SeriesOfTheProcessOutliveJobs) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->Set(GaugeId::kCoordinatorConnected, 1);
  sink->Add(CounterId::kLogMessages, 1, "info");
  sink->BeginJob("a");
  sink->EndJob();
  const std::string text = sink->Text();
  EXPECT_EQ(Value(text, "gossipgrad_coordinator_connected{worker=\"w0\""), 1);
  EXPECT_EQ(Value(text, "gossipgrad_log_messages_total{level=\"info\",worker=\"w0\""), 1);
}

TEST(PrometheusSink, EachSideShowsItsOwnMetrics) {
  auto coordinator = PrometheusSink::Make(MetricSide::kCoordinator);
  coordinator->Set(GaugeId::kJobs, 2, "running");
  coordinator->Set(GaugeId::kJobProgress, 0.5, "lenet");
  coordinator->Set(GaugeId::kLoss, 1);
  const std::string text = coordinator->Text();
  EXPECT_EQ(Value(text, "gossipgrad_jobs{state=\"running\""), 2);
  EXPECT_EQ(Value(text, "gossipgrad_job_progress_ratio{train_job=\"lenet\""), 0.5);
  EXPECT_THAT(text, Not(HasSubstr("gossipgrad_loss{")));
  EXPECT_THAT(text, Not(HasSubstr("worker=")));
  EXPECT_EQ(Value(text, "gossipgrad_jobs_finished_total{state=\"failed\""), 0);
  coordinator->Forget(GaugeId::kJobProgress, "lenet");
  coordinator->Forget(GaugeId::kJobProgress, "never there");
  EXPECT_THAT(coordinator->Text(), Not(HasSubstr("gossipgrad_job_progress_ratio{")));
}

TEST(PrometheusSink, ShowsTheProcessAndTheBuild) {
  const std::string text = PrometheusSink::Make(MetricSide::kWorker, "w0")->Text();
  EXPECT_THAT(text, HasSubstr("gossipgrad_build_info{"));
  for (const char* name : {"process_resident_memory_bytes", "process_open_fds",
                           "process_start_time_seconds", "process_cpu_seconds_total"}) {
    double value = -1;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (absl::StartsWith(line, absl::StrCat(name, " "))) {
        ASSERT_TRUE(absl::SimpleAtod(line.substr(line.find(' ') + 1), &value)) << line;
      }
    }
    EXPECT_GT(value, 0) << name;
  }
}

TEST(PrometheusSink, LabelsNeverCollideWithTheScrapers) {
  const std::set<absl::string_view> taken = {"job",  "instance",  "pod",     "namespace",
                                             "node", "container", "service", "endpoint"};
  for (const auto infos : {CounterInfos(), GaugeInfos(), HistogramInfos()}) {
    for (const MetricInfo& info : infos) EXPECT_EQ(taken.count(info.label), 0u) << info.name;
  }
}

TEST(PrometheusSink, TakesNumbersFromSeveralThreadsWhileScraped) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("a");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&sink] {
      for (int i = 0; i < 500; ++i) {
        sink->Add(CounterId::kSteps, 1);
        sink->Observe(HistogramId::kExchangeWait, 0.001);
        if (i % 50 == 0) sink->Text();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{"), 1500);
}

TEST(MetricsMarkdown, NamesEveryMetricOfTheCatalogue) {
  const std::string page = MetricsMarkdown();
  for (const auto infos : {CounterInfos(), GaugeInfos(), HistogramInfos()}) {
    for (const MetricInfo& info : infos) {
      EXPECT_THAT(page, HasSubstr(absl::StrCat("| `", info.name, "` |")));
    }
  }
}

}  // namespace
}  // namespace gg
