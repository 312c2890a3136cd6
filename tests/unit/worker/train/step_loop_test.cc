// SPDX-License-Identifier: Apache-2.0
#include "worker/train/step_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/reference/reference_device.h"

namespace gg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Time moves only when a fake says so.
class FakeClock : public Clock {
 public:
  absl::Time Now() override { return now_; }
  bool Await(Monitor&, absl::FunctionRef<bool()> ready, absl::Time) override { return ready(); }
  void Advance(absl::Duration d) { now_ += d; }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

absl::Duration Ms(int n) {
  return absl::Milliseconds(n);
}

class FakeReporter : public Reporter {
 public:
  void OnProgress(const TrainProgress&) override {}
  void OnEpoch(const EpochSummary&) override {}
  void OnIncident(const PartnerIncident&) override {}
  void OnRingTrouble(uint64_t step, const absl::Status& why) override {
    troubles.push_back(absl::StrCat(step, ": ", why.message()));
  }
  std::vector<std::string> troubles;
};

// All parts of a step in one object: they write down what is called and let time pass.
class FakeWorld : public BatchSource, public SampleRing, public Network, public ExchangeStrategy {
 public:
  explicit FakeWorld(FakeClock& fake_clock) : clock(fake_clock) {}

  // BatchSource
  void StartNext(uint64_t step) override { Called(absl::StrCat("StartNext", step), Ms(1)); }
  absl::StatusOr<Batch> Next(uint64_t step, absl::Time) override {
    Called(absl::StrCat("Next", step), Ms(2));
    return Batch{x, labels, slots};
  }
  int QueueDepth() override {
    return !calls.empty() && absl::StartsWith(calls.back(), "StartNext") ? 1 : 0;
  }

  // SampleRing
  absl::Status Begin(absl::Span<const int64_t> used) override {
    Called(absl::StrCat("Begin[", absl::StrJoin(used, ","), "]"), Ms(3));
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    Called("Commit", Ms(4));
    return commit_status;
  }
  absl::Status Drain(absl::Time) override {
    Called("Drain", Ms(6));
    return drain_status;
  }
  TradeStats stats() const override { return {}; }

  // Network of two blocks
  ParamArena& arena() override { std::abort(); }  // the loop has no business there
  int64_t batch_size() const override { return 2; }
  absl::StatusOr<LossResult> Forward(uint64_t, ConstFlat, absl::Span<const int32_t>,
                                     gg::BlockNeeded needed) override {
    for (const BlockIndex b : {1, 0}) {
      if (absl::Status s = needed(b); !s.ok()) return s;
      Called(absl::StrCat("forward", b), Ms(10));
    }
    return LossResult{loss_sum, 1};
  }
  absl::Status Backward(gg::GradientReady ready) override {
    for (const BlockIndex b : {0, 1}) {
      Called(absl::StrCat("backward", b), Ms(20));
      if (absl::Status s = ready(b); !s.ok()) return s;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<LossResult> Evaluate(ConstFlat, absl::Span<const int32_t>) override {
    return LossResult{};
  }

  // ExchangeStrategy
  absl::string_view name() const override { return "fake"; }
  absl::Status BeginStep(uint64_t step) override {
    Called(absl::StrCat("BeginStep", step), Ms(1));
    return absl::OkStatus();
  }
  absl::Status BlockNeeded(BlockIndex b) override {
    Called(absl::StrCat("needed", b), Ms(100));
    return absl::OkStatus();
  }
  absl::Status GradientReady(BlockIndex b) override {
    Called(absl::StrCat("ready", b), Ms(30));
    const PhaseTimer::Scope scope(*phases, Phase::kOptimizer);
    Called(absl::StrCat("update", b), Ms(7));
    return absl::OkStatus();
  }
  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    Called(absl::StrCat("EndStep", step), Ms(5));
    return exchange_stats;
  }
  absl::StatusOr<ExchangeStats> Settle() override { return ExchangeStats{}; }
  absl::StatusOr<double> AverageReplicas(absl::Time) override { return 0.0; }
  void Abort(absl::Status) override {}

  StepLoop MakeLoop(PhaseTimer& timer, MetricSink& metrics, uint64_t total,
                    uint64_t steps_per_epoch = 100, GradientClip* clip = nullptr) {
    phases = &timer;
    StepLoopParts parts;
    parts.source = this;
    parts.ring = this;
    parts.network = this;
    parts.clip = clip;
    parts.exchange = this;
    parts.phases = &timer;
    parts.clock = &clock;
    parts.metrics = &metrics;
    parts.reporter = &reporter;
    parts.total_steps = total;
    parts.steps_per_epoch = steps_per_epoch;
    return StepLoop(parts);
  }

  FakeClock& clock;
  PhaseTimer* phases = nullptr;
  std::vector<float> x = {1, 2};
  std::vector<int32_t> labels = {0, 1};
  std::vector<int64_t> slots = {5, 9};
  double loss_sum = 3;
  absl::Status commit_status, drain_status;
  FakeReporter reporter;
  ExchangeStats exchange_stats;
  std::vector<std::string> calls;

 private:
  void Called(std::string what, absl::Duration takes) {
    calls.push_back(std::move(what));
    clock.Advance(takes);
  }
};

class PhaseSink : public MetricSink {
 public:
  void Add(CounterId id, double amount, LabelValues labels) override {
    if (id == CounterId::kStepPhaseSeconds) phases[std::string(labels.values().at(0))] += amount;
    if (id == CounterId::kNonFinite) ++nonfinite;
  }
  void Set(GaugeId id, double value, LabelValues) override {
    if (id == GaugeId::kDataQueueDepth) depths.push_back(value);
  }
  void Observe(HistogramId id, double value, LabelValues) override {
    if (id == HistogramId::kStepDuration) durations.push_back(value);
  }
  std::map<std::string, double> phases;
  std::vector<double> durations, depths;
  int nonfinite = 0;
};

struct Fixture {
  FakeClock clock;
  PhaseTimer timer{clock};
  FakeWorld world{clock};
  PhaseSink sink;
};

TEST(StepLoop, RunsTheLifeOfAStepInItsFixedOrder) {
  Fixture f;
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 2);
  f.timer.Start();
  ASSERT_TRUE(loop.BeginEpoch(0).ok());
  ASSERT_TRUE(loop.Step(0).ok());
  EXPECT_THAT(f.world.calls, ElementsAre("Drain", "StartNext0",                          //
                                         "Next0", "Commit", "StartNext1", "Begin[5,9]",  //
                                         "BeginStep0",                                   //
                                         "needed1", "forward1", "needed0", "forward0",   //
                                         "backward0", "ready0", "update0",               //
                                         "backward1", "ready1", "update1",               //
                                         "EndStep0"));
}

TEST(StepLoop, NoGradientIsUsedBeforeItIsClipped) {
  const auto device = MakeReferenceDevice();
  const auto stream = device->MakeStream().value();
  const auto arena =
      ParamArena::Create(*device, {{.name = "b", .tensors = {{.name = "b.w", .shape = {1}}}},
                                   {.name = "a", .tensors = {{.name = "a.w", .shape = {1}}}}})
          .value();
  OptimizerSpec spec;
  spec.clip_value = 4;
  for (const double norm : {0.0, 1.0}) {
    Fixture f;
    spec.clip_norm = norm;
    arena->gradients(0)[0] = -9;  // cut to -4
    arena->gradients(1)[0] = 3;
    GradientClip clip(spec, *device, *stream, *arena);
    StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 1, 100, &clip);
    f.timer.Start();
    ASSERT_TRUE(loop.BeginEpoch(0).ok());
    ASSERT_TRUE(loop.Step(0).ok());
    std::vector<std::string> backward(f.world.calls.end() - 7, f.world.calls.end());
    if (norm == 0) {
      EXPECT_THAT(backward, ElementsAre("backward0", "ready0", "update0", "backward1", "ready1",
                                        "update1", "EndStep0"));
    } else {
      EXPECT_THAT(backward, ElementsAre("backward0", "backward1", "ready0", "update0", "ready1",
                                        "update1", "EndStep0"));
    }
    const float scale = norm == 0 ? 1 : 0.2f;
    EXPECT_NEAR(arena->gradients(0)[0], -4 * scale, 1e-5);
    EXPECT_NEAR(arena->gradients(1)[0], 3 * scale, 1e-5);
  }
}

TEST(StepLoop, AsksForNoBatchBeyondTheLastStep) {
  Fixture f;
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 1);
  f.timer.Start();
  ASSERT_TRUE(loop.BeginEpoch(0).ok());
  ASSERT_TRUE(loop.Step(0).ok());
  EXPECT_THAT(f.world.calls, ::testing::Not(::testing::Contains("StartNext1")));
}

// The batch of the first step was assembled while the last trade of the epoch was under way: it
// could hold a sample that had been handed on, and miss the one that replaced it.
TEST(StepLoop, AnEpochBeginsWhenTheTradesOfTheLastAreComplete) {
  Fixture f;
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 4, /*steps_per_epoch=*/2);
  f.timer.Start();
  for (uint64_t step = 0; step < 4; ++step) {
    if (step % 2 == 0) {
      ASSERT_TRUE(loop.BeginEpoch(step).ok());
    }
    ASSERT_TRUE(loop.Step(step).ok());
  }
  std::vector<std::string> data;
  for (const std::string& call : f.world.calls) {
    for (const char* which : {"Drain", "StartNext", "Next", "Begin["}) {
      if (call.rfind(which, 0) == 0) data.push_back(call);
    }
  }
  EXPECT_THAT(data, ElementsAre("Drain", "StartNext0", "Next0", "StartNext1", "Begin[5,9]",  //
                                "Next1", "Begin[5,9]",                                       //
                                "Drain", "StartNext2", "Next2", "StartNext3", "Begin[5,9]",  //
                                "Next3", "Begin[5,9]"));
}

TEST(StepLoop, ARingThatIsOverIsReportedOnce) {
  Fixture f;
  f.world.commit_status = absl::UnavailableError("worker b is gone");
  f.world.drain_status = absl::UnavailableError("nothing to drain");
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 4, /*steps_per_epoch=*/1);
  f.timer.Start();
  ASSERT_TRUE(loop.Step(0).ok());
  f.world.commit_status = absl::OkStatus();  // as a ring that is over
  for (uint64_t step = 1; step < 4; ++step) {
    ASSERT_TRUE(loop.BeginEpoch(step).ok());
    ASSERT_TRUE(loop.Step(step).ok());
  }
  EXPECT_THAT(f.world.reporter.troubles, ElementsAre("0: worker b is gone"));
}

TEST(StepLoop, PhasesAddUpToTheWallTimeAndHooksAreTakenOutOfForwardAndBackward) {
  Fixture f;
  f.world.exchange_stats.waited = Ms(180);
  f.world.exchange_stats.mixed = Ms(40);
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 2);
  const absl::Time begin = f.clock.Now();
  f.timer.Start();
  ASSERT_TRUE(loop.BeginEpoch(0).ok());
  ASSERT_TRUE(loop.Step(0).ok());
  f.timer.Stop();
  EXPECT_EQ(f.timer.total(Phase::kData), Ms(2 + 1 + 3));
  EXPECT_EQ(f.timer.total(Phase::kForward), Ms(20));
  EXPECT_EQ(f.timer.total(Phase::kBackward), Ms(40));
  EXPECT_EQ(f.timer.total(Phase::kOptimizer), Ms(14));
  EXPECT_EQ(f.timer.total(Phase::kCommWait), Ms(180 + 4 + 6));  // partner, ring neighbours
  EXPECT_EQ(f.timer.total(Phase::kMix), Ms(40));
  // The hooks took 1 + 200 + 60 + 5; what was neither waiting nor mixing is `other`, with the
  // priming.
  EXPECT_EQ(f.timer.total(Phase::kOther), Ms(266 - 220 + 1));
  absl::Duration sum;
  for (const Phase phase : kAllPhases) sum += f.timer.total(phase);
  EXPECT_EQ(sum, f.clock.Now() - begin);
  EXPECT_EQ(sum, f.timer.wall());
}

TEST(StepLoop, PhaseMetricsAddUpToTheStepDurations) {
  Fixture f;
  f.world.exchange_stats.waited = Ms(10);
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 5);
  f.timer.Start();
  for (uint64_t step = 0; step < 5; ++step) ASSERT_TRUE(loop.Step(step).ok());
  double phases = 0, durations = 0;
  for (const auto& [name, seconds] : f.sink.phases) phases += seconds;
  for (const double seconds : f.sink.durations) durations += seconds;
  EXPECT_NEAR(phases, durations, 1e-9);
  EXPECT_NEAR(f.sink.phases["comm_wait"], 5 * (0.010 + 0.004), 1e-9);
  EXPECT_EQ(f.sink.phases.size(), kPhaseCount);
}

TEST(StepLoop, EveryPhaseIsKnownToTheCatalogue) {
  std::vector<std::string> names;
  for (const Phase phase : kAllPhases) names.emplace_back(PhaseName(phase));
  const MetricInfo& info = CounterInfos()[static_cast<size_t>(CounterId::kStepPhaseSeconds)];
  EXPECT_EQ(LabelsOf(info).at(0).values, names);
}

TEST(StepLoop, ShowsWhetherTheBatchLayReadyWhenTheStepAskedForIt) {
  Fixture f;
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 1);
  f.timer.Start();
  ASSERT_TRUE(loop.BeginEpoch(0).ok());  // asks for the batch: the fake has it at once
  ASSERT_TRUE(loop.Step(0).ok());
  EXPECT_THAT(f.sink.depths, ElementsAre(1));
}

TEST(StepLoop, AStrategyThatClaimsMoreThanItsTimeDoesNotBreakTheSum) {
  Fixture f;
  f.world.exchange_stats.waited = absl::Hours(1);
  f.world.exchange_stats.mixed = absl::Hours(1);
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 1);
  f.timer.Start();
  ASSERT_TRUE(loop.Step(0).ok());
  f.timer.Stop();
  absl::Duration sum;
  for (const Phase phase : kAllPhases) sum += f.timer.total(phase);
  EXPECT_EQ(sum, f.timer.wall());
  EXPECT_EQ(f.timer.total(Phase::kCommWait), Ms(266 + 4));
  EXPECT_EQ(f.timer.total(Phase::kMix), absl::ZeroDuration());
}

TEST(StepLoop, TimeBetweenStopAndStartIsNotCounted) {
  Fixture f;
  f.timer.Start();
  f.timer.Enter(Phase::kForward);
  f.clock.Advance(Ms(5));
  f.timer.Stop();
  f.clock.Advance(Ms(1000));  // an evaluation
  f.timer.Start();
  f.clock.Advance(Ms(7));
  f.timer.Stop();
  EXPECT_EQ(f.timer.wall(), Ms(12));
  EXPECT_EQ(f.timer.total(Phase::kForward), Ms(5));
  EXPECT_EQ(f.timer.total(Phase::kOther), Ms(7));
}

TEST(StepLoop, NonFiniteLossEndsTheRunBeforeAnythingIsExchanged) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Fixture f;
    f.world.loss_sum = bad;
    StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 2);
    f.timer.Start();
    const auto result = loop.Step(0);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("learning_rate"));
    EXPECT_THAT(f.world.calls, ::testing::Not(::testing::Contains("backward0")));
    EXPECT_EQ(f.sink.nonfinite, 1);
  }
}

TEST(StepLoop, ALostRingNeighbourIsReportedAndTrainingGoesOn) {
  for (const absl::Status& trouble : {absl::UnavailableError("worker b is gone"),
                                      absl::DeadlineExceededError("trade 3 is late")}) {
    Fixture f;
    f.world.commit_status = trouble;
    StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 2);
    f.timer.Start();
    EXPECT_TRUE(loop.Step(0).ok());
    EXPECT_THAT(f.world.reporter.troubles, ElementsAre(absl::StrCat("0: ", trouble.message())));
  }
}

TEST(StepLoop, AMistakeOfTheLoopItselfIsNotTolerated) {
  Fixture f;
  f.world.commit_status = absl::InvalidArgumentError("slot 7 does not exist");
  StepLoop loop = f.world.MakeLoop(f.timer, f.sink, 2);
  f.timer.Start();
  EXPECT_EQ(loop.Step(0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(f.world.reporter.troubles.empty());
}

}  // namespace
}  // namespace gg
