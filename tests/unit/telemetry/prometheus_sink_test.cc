// SPDX-License-Identifier: Apache-2.0
#include "telemetry/prometheus_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "telemetry/metrics_markdown.h"

namespace gg {
namespace {

using ::testing::EndsWith;
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

TEST(PrometheusSink, SeveralLabelsMakeASeriesEach) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("a");
  sink->Add(CounterId::kGossipBytes, 5, {"sent", "grpc"});
  sink->Add(CounterId::kGossipBytes, 7, {"received", "grpc"});
  sink->Add(CounterId::kGossipBytes, 11, {"sent", "rdma"});
  const std::string text = sink->Text();
  EXPECT_EQ(Value(text,
                  "gossipgrad_gossip_bytes_total{direction=\"sent\",train_job=\"a\","
                  "transport=\"grpc\",worker=\"w0\""),
            5);
  EXPECT_EQ(Value(text, "gossipgrad_gossip_bytes_total{direction=\"received\""), 7);
  EXPECT_EQ(Value(text,
                  "gossipgrad_gossip_bytes_total{direction=\"sent\",train_job=\"a\","
                  "transport=\"rdma\""),
            11);
}

TEST(PrometheusSink, AValueThatTheCatalogueDoesNotKnowMakesNoSeriesOfItsOwn) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("a");
  for (int i = 0; i < 100; ++i) {
    sink->Add(CounterId::kGossipSkipped, 1, absl::StrCat("made up ", i));
    sink->Add(CounterId::kGossipBytes, 1, {absl::StrCat("sideways ", i), "grpc"});
  }
  const std::string text = sink->Text();
  EXPECT_THAT(text, Not(HasSubstr("made up")));
  EXPECT_EQ(Value(text, "gossipgrad_gossip_skipped_total{reason=\"unknown\""), 100);
  EXPECT_EQ(Value(text, "gossipgrad_gossip_bytes_total{direction=\"unknown\""), 100);
}

// Every series that a worker of this catalogue can show, as it is while a job runs.
int FillWorker(PrometheusSink* sink) {
  const auto values = [](const MetricInfo& info) {
    std::vector<absl::string_view> some;
    for (const LabelInfo& label : LabelsOf(info)) {
      some.push_back(label.values.empty() ? absl::string_view("any") : "unknown");
    }
    return some;
  };
  for (size_t i = 0; i < CounterInfos().size(); ++i) {
    const MetricInfo& info = CounterInfos()[i];
    std::vector<absl::string_view> one = values(info);
    bool open = false;
    for (const LabelInfo& label : LabelsOf(info)) open = open || label.values.empty();
    if (!open) continue;  // all of its series are there from the start
    for (const char* direction : {"sent", "received"}) {
      one[0] = direction;
      sink->Add(static_cast<CounterId>(i), 1, absl::Span<const absl::string_view>(one));
    }
  }
  for (size_t i = 0; i < GaugeInfos().size(); ++i) {
    const std::vector<absl::string_view> one = values(GaugeInfos()[i]);
    sink->Set(static_cast<GaugeId>(i), 1, absl::Span<const absl::string_view>(one));
  }
  return SeriesCount(sink->Text());
}

TEST(PrometheusSink, AWorkerKeepsToItsBudgetOfSeries) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("a");
  const int series = FillWorker(sink.get());
  EXPECT_LE(series, kWorkerSeriesBudget);
  EXPECT_GE(series, kWorkerSeriesBudget - 5) << "the budget promises more than there is: lower it";
}

TEST(PrometheusSink, NumberOfSeriesStaysFlatOverThousandJobs) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  int second = 0;
  for (int job = 0; job < 1000; ++job) {
    sink->BeginJob(absl::StrCat("job-", job));
    sink->Set(GaugeId::kLoss, job);
    if (job == 1) second = SeriesCount(sink->Text());
    sink->EndJob();
  }
  sink->BeginJob("last");
  sink->Set(GaugeId::kLoss, 1);
  EXPECT_EQ(SeriesCount(sink->Text()), second);  // one that runs and one that has ended
  EXPECT_THAT(sink->Text(), Not(HasSubstr("job-0\"")));
  EXPECT_THAT(sink->Text(), HasSubstr("job-999\""));
}

// Time moves only when a test says so.
class FakeClock : public Clock {
 public:
  absl::Time Now() override { return now_; }
  bool Await(Monitor&, absl::FunctionRef<bool()> ready, absl::Time) override { return ready(); }
  void Advance(absl::Duration d) { now_ += d; }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST(PrometheusSink, TheLastValuesOfAJobStayUntilAScraperHasHadTimeToSeeThem) {
  FakeClock clock;
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0", clock);
  sink->BeginJob("gone");
  sink->Add(CounterId::kSteps, 7);
  sink->Set(GaugeId::kLoss, 0.5);
  sink->EndJob();
  sink->Add(CounterId::kSteps, 1);  // late: dropped
  sink->Set(GaugeId::kLoss, 1);
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{"), 7);
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_loss{"), 0.5);
  clock.Advance(kSeriesOutliveJob - absl::Seconds(1));
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{"), 7);
  clock.Advance(absl::Seconds(1));
  EXPECT_THAT(sink->Text(), Not(HasSubstr("gone")));
  EXPECT_THAT(sink->Text(), Not(HasSubstr("gossipgrad_steps_total")));
}

TEST(PrometheusSink, TheLastValuesOfAJobWaitForTheFirstScrapeHoweverLateItIs) {
  FakeClock clock;
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0", clock);
  sink->BeginJob("gone");
  sink->Text();
  sink->Add(CounterId::kSteps, 7);
  sink->EndJob();
  clock.Advance(kSeriesOutliveJob * 10);
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{"), 7);
  EXPECT_THAT(sink->Text(), Not(HasSubstr("gone")));
}

TEST(PrometheusSink, TheNextJobRunsBesideTheLastValuesOfTheOneBefore) {
  FakeClock clock;
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0", clock);
  sink->BeginJob("first");
  sink->Add(CounterId::kSteps, 7);
  sink->EndJob();
  sink->BeginJob("second");
  sink->Add(CounterId::kSteps, 2);
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{train_job=\"first\""), 7);
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{train_job=\"second\""), 2);
  sink->EndJob();
  EXPECT_THAT(sink->Text(), Not(HasSubstr("first")));
  sink->BeginJob("second");  // again: the same series, from 0
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{train_job=\"second\""), 0);
  clock.Advance(kSeriesOutliveJob * 2);
  sink->Text();
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{train_job=\"second\""), 0);
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
  coordinator->Forget(GaugeId::kLoss, "of the other side");
  EXPECT_THAT(coordinator->Text(), Not(HasSubstr("gossipgrad_job_progress_ratio{")));
}

TEST(PrometheusSink, ForgettingAJobLeavesTheOthers) {
  auto sink = PrometheusSink::Make(MetricSide::kCoordinator);
  for (const char* job : {"a", "ab", "b"}) {
    for (const char* state : {"running", "failed"}) sink->Set(GaugeId::kJobState, 1, {job, state});
  }
  sink->Forget(GaugeId::kJobState, "a");
  const std::string text = sink->Text();
  EXPECT_THAT(text, Not(HasSubstr("train_job=\"a\"")));
  EXPECT_EQ(Value(text, "gossipgrad_job_state{state=\"failed\",train_job=\"ab\""), 1);
  EXPECT_EQ(Value(text, "gossipgrad_job_state{state=\"running\",train_job=\"b\""), 1);
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

TEST(PrometheusSink, TakesNumbersFromSeveralThreadsWhileScraped) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w0");
  sink->BeginJob("a");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&sink] {
      for (int i = 0; i < 500; ++i) {
        sink->Add(CounterId::kSteps, 1);
        sink->Observe(HistogramId::kExchangeDuration, 0.001);
        if (i % 50 == 0) sink->Text();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Value(sink->Text(), "gossipgrad_steps_total{"), 1500);
}

TEST(OpenMetrics, HasItsOwnNamesForCountersAndInfosAndAnEnd) {
  auto sink = PrometheusSink::Make(MetricSide::kWorker, "w\"0\\\n");
  sink->BeginJob("a");
  sink->Add(CounterId::kSteps, 3);
  sink->Observe(HistogramId::kStepDuration, 0.02);
  sink->Observe(HistogramId::kStepDuration, 99);
  sink->Set(GaugeId::kLoss, 0.1);
  sink->Set(GaugeId::kGradNorm, std::numeric_limits<double>::quiet_NaN());
  const std::string text = sink->Text(MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, EndsWith("\n# EOF\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE gossipgrad_steps counter\n"));
  const std::string labels = "{train_job=\"a\",worker=\"w\\\"0\\\\\\n\"} ";
  EXPECT_THAT(text, HasSubstr(absl::StrCat("\ngossipgrad_steps_total", labels, "3\n")));
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds counter\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE gossipgrad_build info\n"));
  EXPECT_THAT(text, HasSubstr("\ngossipgrad_build_info{"));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("\ngossipgrad_loss", labels, "0.1\n")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("\ngossipgrad_grad_norm", labels, "NaN\n")));
  EXPECT_THAT(text, HasSubstr(",le=\"1.0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(",le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr(absl::StrCat("\ngossipgrad_step_duration_seconds_count", labels, "2\n")));
}

}  // namespace
}  // namespace gg
