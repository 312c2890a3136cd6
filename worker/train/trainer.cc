// SPDX-License-Identifier: Apache-2.0
#include "worker/train/trainer.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/sync.h"
#include "worker/data/batch_source.h"
#include "worker/exchange/exchange.h"
#include "worker/optim/gradient_clip.h"
#include "worker/optim/optimizer.h"
#include "worker/trade/sample_ring.h"
#include "worker/train/evaluate.h"
#include "worker/train/norm_meter.h"
#include "worker/train/phase_timer.h"
#include "worker/train/progress_meter.h"
#include "worker/train/step_loop.h"

namespace gg {
namespace {

// The closing average waits for the slowest worker, which may still be scoring its replica. With
// methods in which nobody waits the slowest may have most of its steps before it: they take this for
// how long a worker may be silent.
constexpr absl::Duration kClosingDeadline = absl::Seconds(120);

std::string DescribeShape(const SampleShape& shape) {
  return absl::StrCat(shape.channels, " x ", shape.height, " x ", shape.width);
}

absl::StatusOr<TrainingPlan> MakePlan(const TrainerContext& c) {
  if (c.train->size() < c.size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the training set has ", c.train->size(), " samples for ", c.size,
        " workers: every worker needs at least one; lower spec.workers or use more data"));
  }
  if (c.test->size() < 1) return absl::InvalidArgumentError("the test set is empty");
  if (c.train->shape != c.test->shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training samples are of shape ", DescribeShape(c.train->shape), ", test samples of shape ",
        DescribeShape(c.test->shape), " in ", c.spec.data.path, ": both sets must have the same"));
  }
  TrainingPlan plan;
  plan.steps_per_epoch =
      static_cast<uint64_t>(StepsPerEpoch(c.train->size(), c.size, c.spec.train.batch_size));
  plan.total_steps = plan.steps_per_epoch * static_cast<uint64_t>(c.spec.train.epochs);
  if (c.spec.train.max_steps > 0) {
    plan.total_steps = std::min(plan.total_steps, static_cast<uint64_t>(c.spec.train.max_steps));
  }
  if (plan.total_steps == 0)
    return absl::InvalidArgumentError("the job has no steps: spec.train.epochs is 0");
  return plan;
}

class JobTrainer final : public Trainer {
 public:
  JobTrainer(TrainerContext context, const TrainingPlan& plan)
      : c_(std::move(context)),
        plan_(plan),
        phases_(*c_.clock),
        batch_(c_.batches.empty() ? c_.spec.train.batch_size
                                  : c_.batches[static_cast<size_t>(c_.rank)]),
        store_(*c_.train, c_.batches.empty()
                              ? InitialShard(c_.train->size(), c_.size, c_.rank)
                              : ProportionalShard(c_.train->size(), c_.batches, c_.rank)) {}

  absl::Status Build() {
    const JobSpec& spec = c_.spec;
    GG_ASSIGN_OR_RETURN(stream_, c_.device->MakeStream());
    GG_ASSIGN_OR_RETURN(optimizer_, MakeOptimizer(spec.optimizer, *c_.device, *stream_, arena()));
    GG_ASSIGN_OR_RETURN(
        source_,
        MakeBatchSource(store_, {.batch_size = batch_,
                                 .steps_per_epoch = static_cast<int64_t>(plan_.steps_per_epoch),
                                 .mean = spec.data.mean,
                                 .stddev = spec.data.stddev,
                                 .seed = spec.train.seed,
                                 .rank = c_.rank}));
    const bool trade = spec.data.exchange == "ring";
    const absl::Duration deadline = absl::Seconds(spec.exchange.deadline_seconds);
    GG_ASSIGN_OR_RETURN(
        ring_, MakeSampleRing({.samples_per_trade =
                                   std::min(spec.train.batch_size, c_.train->size() / c_.size),
                               .deadline = deadline},
                              store_, trade ? c_.group : nullptr, *c_.clock, *c_.metrics));
    ExchangeContext exchange;
    exchange.spec = spec.exchange;
    exchange.seed = spec.train.seed;
    exchange.device = c_.device;
    exchange.stream = stream_.get();
    exchange.arena = &arena();
    exchange.group = c_.group;
    exchange.size = c_.size;
    exchange.rank = c_.rank;
    exchange.clock = c_.clock;
    exchange.metrics = c_.metrics;
    exchange.steps_per_epoch = plan_.steps_per_epoch;
    exchange.weight = static_cast<double>(batch_) / static_cast<double>(spec.train.batch_size);
    exchange.transport = c_.transport;
    exchange.update = [this](BlockIndex block, uint64_t step) {
      const PhaseTimer::Scope scope(phases_, Phase::kOptimizer);
      const BlockInfo& b = arena().block(block);
      return norms_->Watch(step, b.offset, b.count,
                           [&] { return optimizer_->Update(block, step, RateOf(step)); });
    };
    exchange.update_range = [this](size_t offset, size_t count, uint64_t step) {
      const PhaseTimer::Scope scope(phases_, Phase::kOptimizer);
      return norms_->Watch(step, offset, count, [&] {
        return optimizer_->UpdateRange(offset, count, step, RateOf(step));
      });
    };
    exchange.on_incident = [this](const PartnerIncident& i) { c_.reporter->OnIncident(i); };
    norms_ = std::make_unique<NormMeter>(*c_.device, *stream_, arena(), *c_.metrics);
    if (spec.optimizer.clip_norm > 0 || spec.optimizer.clip_value > 0) {
      clip_ = std::make_unique<GradientClip>(spec.optimizer, *c_.device, *stream_, arena());
    }
    GG_ASSIGN_OR_RETURN(exchange_, MakeExchange(std::move(exchange)));
    return absl::OkStatus();
  }

  const TrainingPlan& plan() const override { return plan_; }

  absl::StatusOr<TrainingResult> Run() override {
    ProgressMeter meter(*c_.clock, *c_.reporter, plan_.total_steps, batch_);
    absl::Status status = Train(meter);
    if (status.ok()) status = Complete(meter);
    // Whatever a stop request broke, it is the reason.
    if (absl::Status stopped = StopRequest(); !stopped.ok()) return stopped;
    if (!status.ok()) return status;
    return result_;
  }

  void Stop(absl::Status why) override {
    {
      MutexLock lock(&mu_);
      if (!stop_.ok()) return;
      stop_ = why;
    }
    exchange_->Abort(why);
  }

 private:
  ParamArena& arena() { return c_.network->arena(); }

  double RateOf(uint64_t step) const {
    return LearningRate(c_.spec.learning_rate, step, plan_.steps_per_epoch, plan_.total_steps,
                        c_.size);
  }

  absl::Status StopRequest() const {
    MutexLock lock(&mu_);
    return stop_;
  }

  absl::Status Train(ProgressMeter& meter) {
    StepLoop loop({.source = source_.get(),
                   .ring = ring_.get(),
                   .network = c_.network,
                   .clip = clip_.get(),
                   .exchange = exchange_.get(),
                   .phases = &phases_,
                   .clock = c_.clock,
                   .metrics = c_.metrics,
                   .reporter = c_.reporter,
                   .total_steps = plan_.total_steps,
                   .steps_per_epoch = plan_.steps_per_epoch,
                   .ring_deadline = absl::Seconds(c_.spec.exchange.deadline_seconds)});
    phases_.Start();
    double epoch_loss = 0;
    uint64_t epoch_steps = 0;
    for (uint64_t step = 0; step < plan_.total_steps; ++step) {
      GG_RETURN_IF_ERROR(StopRequest());
      if (step % plan_.steps_per_epoch == 0) GG_RETURN_IF_ERROR(loop.BeginEpoch(step));
      const absl::StatusOr<StepResult> done = loop.Step(step);
      if (!done.ok()) return Annotate(done.status(), absl::StrCat("step ", step));
      totals_ += done->exchange;
      GG_RETURN_IF_ERROR(norms_->AfterStep(step));
      epoch_loss += done->loss;
      ++epoch_steps;
      const uint64_t finished = step + 1;
      const double epochs =
          static_cast<double>(finished) / static_cast<double>(plan_.steps_per_epoch);
      const double rate = RateOf(step);
      c_.metrics->Set(GaugeId::kLearningRate, rate);
      c_.metrics->Set(GaugeId::kEpoch, epochs);
      meter.AfterStep(finished, epochs, done->loss, rate, totals_, done->exchange.partner_distance,
                      phases_);
      if (finished % plan_.steps_per_epoch == 0 || finished == plan_.total_steps) {
        GG_RETURN_IF_ERROR(EndEpoch({.epoch = static_cast<uint32_t>(std::ceil(epochs)),
                                     .train_loss = epoch_loss / static_cast<double>(epoch_steps),
                                     .step = finished}));
        epoch_loss = 0;
        epoch_steps = 0;
      }
    }
    GG_RETURN_IF_ERROR(Settle());
    phases_.Stop();
    return absl::OkStatus();
  }

  absl::Status Settle() {
    absl::StatusOr<ExchangeStats> stats = [&] {
      const auto scope = PhaseTimer::Scope::Exchange(phases_);
      return exchange_->Settle();
    }();
    if (!stats.ok()) return Annotate(stats.status(), "settling the exchange");
    phases_.DivideExchange(stats->waited, stats->mixed);
    totals_ += *stats;
    return absl::OkStatus();
  }

  absl::StatusOr<Score> ScoreOn(ShardRange range) {
    return Evaluate(*c_.network, *c_.test, range, c_.spec.data.mean, c_.spec.data.stddev,
                    [this] { return StopRequest(); });
  }

  ShardRange OwnSlice() const { return InitialShard(c_.test->size(), c_.size, c_.rank); }

  // Reports the epoch; scores this replica on its slice when the spec asks for it.
  absl::Status EndEpoch(EpochSummary summary) {
    const int64_t every = c_.spec.train.evaluate_every_epochs;
    if (every > 0 && summary.epoch % every == 0) {
      GG_RETURN_IF_ERROR(Settle());
      phases_.Stop();
      GG_ASSIGN_OR_RETURN(const Score score, ScoreOn(OwnSlice()));
      phases_.Start();
      summary.evaluated = true;
      summary.test_correct = static_cast<uint64_t>(score.correct);
      summary.test_samples = static_cast<uint64_t>(score.samples);
      c_.metrics->Set(GaugeId::kTestAccuracy, score.accuracy());
    }
    summary.train_seconds = absl::ToDoubleSeconds(phases_.wall());
    summary.wait_seconds = absl::ToDoubleSeconds(phases_.total(Phase::kCommWait));
    summary.sent_bytes = totals_.bytes_sent;
    summary.partner_distance = totals_.partner_distance;
    c_.reporter->OnEpoch(summary);
    return absl::OkStatus();
  }

  absl::Status Complete(ProgressMeter& meter) {
    meter.Completing();
    GG_ASSIGN_OR_RETURN(const Score own, ScoreOn({0, c_.test->size()}));
    GG_RETURN_IF_ERROR(TolerateRing(
        Annotate(ring_->Drain(c_.clock->Now() + kClosingDeadline), "draining the sample ring"),
        plan_.total_steps, *c_.reporter));
    TrainingResult& r = result_;
    Score final_score = own;  // a single replica is its own average, and its slice is the whole set
    if (c_.size > 1 && c_.spec.exchange.final_average) {
      // Not what draining has left of it: a slow neighbour in the ring is alive all the same.
      const absl::StatusOr<double> averaged =
          exchange_->AverageReplicas(c_.clock->Now() + kClosingDeadline);
      if (!averaged.ok()) return Annotate(averaged.status(), "closing average of the replicas");
      r.squared_distance = *averaged * *averaged;
      GG_ASSIGN_OR_RETURN(final_score, ScoreOn(OwnSlice()));
    } else if (c_.size > 1) {
      r.squared_distance = -1;  // there is no averaged model to measure or to score
      final_score = Score();
    }
    c_.metrics->Set(GaugeId::kTestAccuracy,
                    final_score.samples > 0 ? final_score.accuracy() : own.accuracy());
    r.average_correct = static_cast<uint64_t>(final_score.correct);
    r.average_samples = static_cast<uint64_t>(final_score.samples);
    r.average_loss_sum = final_score.loss_sum;
    r.replica_accuracy = own.accuracy();
    return FillTotals();
  }

  absl::Status FillTotals() {
    TrainingResult& r = result_;
    r.steps = plan_.total_steps;
    r.epochs = static_cast<double>(r.steps) / static_cast<double>(plan_.steps_per_epoch);
    r.train_seconds = absl::ToDoubleSeconds(phases_.wall());
    r.samples = r.steps * static_cast<uint64_t>(batch_);
    r.sent_bytes = totals_.bytes_sent;
    r.sent_messages = totals_.messages_sent;
    r.wait_seconds = absl::ToDoubleSeconds(phases_.total(Phase::kCommWait));
    r.skipped_exchanges = totals_.exchanges_skipped;
    GG_ASSIGN_OR_RETURN(r.squared_parameter_norm,
                        c_.device->SquaredNorm(*stream_, arena().weights()));
    if (!std::isfinite(r.squared_parameter_norm)) {
      c_.metrics->Add(CounterId::kNonFinite, 1, "weights");
      return absl::InternalError(
          "the final weights are not finite: training has diverged; lower spec.learning_rate.base");
    }
    r.model_checksum = WeightsChecksum(arena());
    r.parameter_count = arena().parameter_count();
    r.trades_late = ring_->stats().trades_late;
    for (const Phase phase : kAllPhases) {
      r.phase_seconds[std::string(PhaseName(phase))] = absl::ToDoubleSeconds(phases_.total(phase));
    }
    return absl::OkStatus();
  }

  const TrainerContext c_;
  const TrainingPlan plan_;
  PhaseTimer phases_;
  const int64_t batch_;  // samples of a step on this rank
  ShardStore store_;
  // In order of construction; the exchange ends before what it borrows.
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<SampleRing> ring_;
  std::unique_ptr<NormMeter> norms_;
  std::unique_ptr<GradientClip> clip_;
  std::unique_ptr<ExchangeStrategy> exchange_;
  ExchangeStats totals_;
  TrainingResult result_;

  mutable Mutex mu_;
  absl::Status stop_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Make(TrainerContext context) {
  GG_ASSIGN_OR_RETURN(const TrainingPlan plan, MakePlan(context));
  auto trainer = std::make_unique<JobTrainer>(std::move(context), plan);
  GG_RETURN_IF_ERROR(trainer->Build());
  return trainer;
}

uint64_t WeightsChecksum(ParamArena& arena) {
  const Flat weights = arena.weights();
  return XXH3_64bits(weights.data(), weights.size() * sizeof(float));
}

}  // namespace gg
