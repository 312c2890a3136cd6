// SPDX-License-Identifier: Apache-2.0
//
// Runners over the in-process transport, ordered about by the test in the coordinator's place.
#include "worker/daemon/job_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/view_codec.h"
#include "worker/transport/inproc/inproc_transport.h"

namespace gg {
namespace {

using gossipgrad::v1::WorkerMessage;
using ::testing::HasSubstr;

JobSpec SmallJob(const std::string& name = "small") {
  JobSpec spec;
  spec.name = name;
  spec.model.name = "mlp";
  spec.model.hidden = {8};
  spec.data.format = "synthetic";
  spec.data.shape = {1, 6, 6};
  spec.data.classes = 3;
  spec.data.train_samples = 96;
  spec.data.test_samples = 30;
  spec.train.epochs = 2;
  spec.train.batch_size = 8;
  spec.workers.device = "reference";
  return spec;
}

// One worker without its daemon.
class TestWorker {
 public:
  TestWorker(InprocNetwork& wire, const std::string& id)
      : id_(id),
        transport_(wire.MakeTransport({})),
        metrics_(PrometheusSink::Make(MetricSide::kWorker, id)) {
    LoggerOptions log;
    log.component = id;
    log.write = [](absl::string_view) {};
    log_ = MakeLogger(std::move(log));
    JobRunnerParts parts;
    parts.worker_id = id;
    parts.device_name = "reference";
    auto device = MakeDevice("reference", {});
    EXPECT_TRUE(device.ok()) << device.status();
    parts.device = *std::move(device);
    parts.transport = transport_.get();
    parts.metrics = metrics_.get();
    parts.log = log_.get();
    parts.clock = &RealClock();
    parts.send = [this](WorkerMessage message) {
      MutexLock lock(&monitor_.mu);
      sent_.push_back(std::move(message));
      monitor_.changed.NotifyAll();
    };
    runner_ = std::make_unique<JobRunner>(std::move(parts));
  }

  Member member() const { return {id_, transport_->local_address()}; }
  JobRunner& runner() { return *runner_; }
  std::string Metrics() const { return metrics_->Text(); }

  // The next message that is no progress report.
  WorkerMessage Next() {
    MutexLock lock(&monitor_.mu);
    WorkerMessage message;
    const bool came = RealClock().Await(
        monitor_,
        [&] {
          while (!sent_.empty() && sent_.front().has_progress()) sent_.pop_front();
          return !sent_.empty();
        },
        RealClock().Now() + absl::Seconds(60));
    EXPECT_TRUE(came) << id_ << ": nothing was sent";
    if (!came) return message;
    message = sent_.front();
    sent_.pop_front();
    return message;
  }

  WorkerMessage NextBut(std::function<bool(const WorkerMessage&)> skipped) {
    WorkerMessage message = Next();
    while (skipped(message)) message = Next();
    return message;
  }

 private:
  const std::string id_;
  Monitor monitor_;
  std::deque<WorkerMessage> sent_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<PrometheusSink> metrics_;
  std::unique_ptr<Logger> log_;
  std::unique_ptr<JobRunner> runner_;
};

gossipgrad::v1::Assign Assignment(const JobSpec& spec, const View& view, Rank rank,
                                  const std::string& job = "job-1") {
  gossipgrad::v1::Assign assign;
  assign.set_job_id(job);
  *assign.mutable_spec() = ToProto(spec);
  *assign.mutable_view() = ToProto(view);
  assign.set_rank(rank);
  return assign;
}

gossipgrad::v1::Begin BeginOf(const std::string& job, uint64_t view) {
  gossipgrad::v1::Begin begin;
  begin.set_job_id(job);
  begin.set_view(view);
  return begin;
}

gossipgrad::v1::Stop StopOf(const std::string& job) {
  gossipgrad::v1::Stop stop;
  stop.set_job_id(job);
  stop.set_reason("cancelled by a test");
  return stop;
}

bool IsEpoch(const WorkerMessage& m) {
  return m.has_epoch();
}

struct Alone {
  std::unique_ptr<InprocNetwork> wire = MakeInprocNetwork();
  TestWorker worker{*wire, "w0"};
  View view{1, {worker.member()}};
};

TEST(JobRunner, PreparesWaitsForBeginTrainsAndReports) {
  Alone one;
  one.worker.runner().Assign(Assignment(SmallJob(), one.view, 0));
  const WorkerMessage prepared = one.worker.Next();
  ASSERT_TRUE(prepared.has_prepared()) << prepared.ShortDebugString();
  EXPECT_EQ(prepared.prepared().job_id(), "job-1");
  EXPECT_EQ(prepared.prepared().view(), 1u);
  EXPECT_EQ(prepared.prepared().steps_per_epoch(), 12u);
  EXPECT_EQ(prepared.prepared().total_steps(), 24u);
  EXPECT_NE(prepared.prepared().data_fingerprint(), 0u);
  EXPECT_NE(prepared.prepared().model_fingerprint(), 0u);

  one.worker.runner().Begin(BeginOf("job-1", 99));  // of another view: ignored
  one.worker.runner().Begin(BeginOf("job-1", 1));
  EXPECT_EQ(one.worker.Next().epoch().epoch(), 1u);
  EXPECT_EQ(one.worker.Next().epoch().epoch(), 2u);
  const WorkerMessage finished = one.worker.Next();
  ASSERT_TRUE(finished.has_finished()) << finished.ShortDebugString();
  EXPECT_EQ(finished.finished().steps(), 24u);
  EXPECT_EQ(finished.finished().samples(), 24u * 8u);
  EXPECT_EQ(finished.finished().average_samples(), 30u);
  EXPECT_EQ(finished.finished().phase_seconds().size(), 7u);
  EXPECT_EQ(finished.finished().parameter_count(), prepared.prepared().parameter_count());
  EXPECT_THAT(one.worker.Metrics(),
              HasSubstr("gossipgrad_steps_total{train_job=\"small\",worker=\"w0\"} 24"));
}

TEST(JobRunner, AScheduleThatNobodyGoesByHasNoFingerprint) {
  for (const bool goes_by_it : {true, false}) {
    Alone one;
    JobSpec spec = SmallJob();
    spec.exchange.algorithm = goes_by_it ? "gossip-grad" : "allreduce";
    one.worker.runner().Assign(Assignment(spec, one.view, 0));
    const WorkerMessage prepared = one.worker.Next();
    ASSERT_TRUE(prepared.has_prepared()) << prepared.ShortDebugString();
    EXPECT_EQ(prepared.prepared().schedule_fingerprint() != 0, goes_by_it);
  }
}

TEST(JobRunner, TwoWorkersAgreeAndTrainOneJobAfterTheOther) {
  auto wire = MakeInprocNetwork();
  TestWorker a(*wire, "a"), b(*wire, "b");
  for (uint64_t round = 1; round <= 2; ++round) {
    const std::string job = absl::StrCat("job-", round);
    const View view{round, {a.member(), b.member()}};
    a.runner().Assign(Assignment(SmallJob(), view, 0, job));
    b.runner().Assign(Assignment(SmallJob(), view, 1, job));
    const auto pa = a.NextBut(IsEpoch).prepared(), pb = b.NextBut(IsEpoch).prepared();
    EXPECT_EQ(pa.job_id(), job);
    EXPECT_EQ(pa.schedule_fingerprint(), pb.schedule_fingerprint());
    EXPECT_EQ(pa.data_fingerprint(), pb.data_fingerprint());
    EXPECT_EQ(pa.model_fingerprint(), pb.model_fingerprint());
    a.runner().Begin(BeginOf(job, round));
    b.runner().Begin(BeginOf(job, round));
    const auto fa = a.NextBut(IsEpoch).finished(), fb = b.NextBut(IsEpoch).finished();
    EXPECT_EQ(fa.job_id(), job);
    EXPECT_GT(fa.sent_bytes(), 0u);
    EXPECT_EQ(fa.model_checksum(), fb.model_checksum());
    EXPECT_EQ(fa.average_samples() + fb.average_samples(), 30u);
  }
  EXPECT_THAT(a.Metrics(), HasSubstr("gossipgrad_transport_bytes_total{direction=\"sent\","
                                     "train_job=\"small\",transport=\"inproc\",worker=\"a\"}"));
}

TEST(JobRunner, AFailedJobIsReportedAndTheNextOneServed) {
  Alone one;
  JobSpec bad = SmallJob("bad");
  bad.data.format = "idx";
  bad.data.path = "/does/not/exist";
  one.worker.runner().Assign(Assignment(bad, one.view, 0, "bad"));
  const WorkerMessage failed = one.worker.Next();
  ASSERT_TRUE(failed.has_failed()) << failed.ShortDebugString();
  EXPECT_EQ(failed.failed().job_id(), "bad");
  EXPECT_EQ(failed.failed().code(), static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_THAT(failed.failed().message(), HasSubstr("/does/not/exist"));

  one.worker.runner().Assign(Assignment(SmallJob(), one.view, 0, "good"));
  EXPECT_EQ(one.worker.Next().prepared().job_id(), "good");
}

TEST(JobRunner, DivergenceIsReportedWithItsStep) {
  Alone one;
  JobSpec wild = SmallJob();
  wild.learning_rate.base = 1e30;
  one.worker.runner().Assign(Assignment(wild, one.view, 0));
  EXPECT_TRUE(one.worker.Next().has_prepared());
  one.worker.runner().Begin(BeginOf("job-1", 1));
  const WorkerMessage failed = one.worker.NextBut(IsEpoch);
  ASSERT_TRUE(failed.has_failed()) << failed.ShortDebugString();
  EXPECT_THAT(failed.failed().message(), HasSubstr("step "));
}

TEST(JobRunner, StopEndsAJobInEveryStateSilently) {
  Alone one;
  JobSpec endless = SmallJob();
  endless.train.epochs = 1000000;
  endless.train.evaluate_every_epochs = 0;
  // Before Begin.
  one.worker.runner().Assign(Assignment(endless, one.view, 0, "first"));
  EXPECT_TRUE(one.worker.Next().has_prepared());
  one.worker.runner().Stop(StopOf("first"));
  // While it trains.
  one.worker.runner().Assign(Assignment(endless, one.view, 0, "second"));
  EXPECT_EQ(one.worker.Next().prepared().job_id(), "second");
  one.worker.runner().Begin(BeginOf("second", 1));
  EXPECT_TRUE(one.worker.Next().has_epoch());
  one.worker.runner().Stop(StopOf("another"));  // not this one
  EXPECT_TRUE(one.worker.Next().has_epoch());
  one.worker.runner().Stop(StopOf("second"));
  // Assigned and stopped before it was looked at, or while it is prepared.
  one.worker.runner().Assign(Assignment(endless, one.view, 0, "third"));
  one.worker.runner().Stop(StopOf("third"));
  one.worker.runner().Assign(Assignment(SmallJob(), one.view, 0, "last"));
  const WorkerMessage next = one.worker.NextBut(
      [](const WorkerMessage& m) { return m.has_epoch() || m.prepared().job_id() == "third"; });
  EXPECT_EQ(next.prepared().job_id(), "last") << next.ShortDebugString();
}

TEST(JobRunner, ANewAssignmentTakesThePlaceOfARunningJob) {
  Alone one;
  JobSpec endless = SmallJob();
  endless.train.epochs = 1000000;
  one.worker.runner().Assign(Assignment(endless, one.view, 0, "old"));
  EXPECT_TRUE(one.worker.Next().has_prepared());
  one.worker.runner().Begin(BeginOf("old", 1));
  EXPECT_TRUE(one.worker.Next().has_epoch());
  one.worker.runner().Assign(Assignment(SmallJob(), one.view, 0, "new"));
  EXPECT_EQ(one.worker.NextBut(IsEpoch).prepared().job_id(), "new");
}

TEST(JobRunner, ShutdownEndsARunningJobInTime) {
  Alone one;
  JobSpec endless = SmallJob();
  endless.train.epochs = 1000000;
  one.worker.runner().Assign(Assignment(endless, one.view, 0));
  EXPECT_TRUE(one.worker.Next().has_prepared());
  one.worker.runner().Begin(BeginOf("job-1", 1));
  EXPECT_TRUE(one.worker.Next().has_epoch());
  EXPECT_TRUE(one.worker.runner().Shutdown("test", RealClock().Now() + absl::Seconds(60)));
}

TEST(JobRunner, RefusesAPlaceThatIsNotItsOwn) {
  Alone one;
  for (const Rank rank : {-1, 1}) {
    one.worker.runner().Assign(Assignment(SmallJob(), one.view, rank));
    EXPECT_THAT(one.worker.Next().failed().message(), HasSubstr("does not have rank"));
  }
  View others = one.view;
  others.members[0].worker_id = "somebody else";
  one.worker.runner().Assign(Assignment(SmallJob(), others, 0));
  EXPECT_THAT(one.worker.Next().failed().message(), HasSubstr("does not have rank"));
}

}  // namespace
}  // namespace gg
