// SPDX-License-Identifier: Apache-2.0
#include "worker/train/step_loop.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

absl::Status CheckFinite(double loss, MetricSink& metrics) {
  if (std::isfinite(loss)) return absl::OkStatus();
  metrics.Add(CounterId::kNonFinite, 1, "loss");
  return absl::InternalError(absl::StrCat(
      "the training loss is ", loss,
      ": training has diverged; lower spec.learning_rate.base (half of it is a good first try), "
      "add "
      "spec.learning_rate.warmup_epochs, or check spec.data.mean and spec.data.stddev"));
}

}  // namespace

absl::Status TolerateRing(const absl::Status& status, uint64_t step, Reporter& reporter) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      reporter.OnRingTrouble(step, status);
      return absl::OkStatus();
    default:
      return status;
  }
}

absl::Status StepLoop::Tolerate(const absl::Status& ring, uint64_t step) {
  if (absl::IsUnavailable(ring)) ring_over_ = true;
  return TolerateRing(ring, step, *parts_.reporter);
}

absl::Status StepLoop::BeginEpoch(uint64_t step) {
  const auto drain = [&] {
    const PhaseTimer::Scope scope(*parts_.phases, Phase::kCommWait);
    return parts_.ring->Drain(parts_.clock->Now() + parts_.ring_deadline);
  };
  if (!ring_over_) GG_RETURN_IF_ERROR(Tolerate(drain(), step));
  parts_.source->StartNext(step);
  return absl::OkStatus();
}

absl::StatusOr<StepResult> StepLoop::Step(uint64_t step) {
  BatchSource& source = *parts_.source;
  Network& network = *parts_.network;
  ExchangeStrategy& exchange = *parts_.exchange;
  MetricSink& metrics = *parts_.metrics;
  PhaseTimer& phases = *parts_.phases;
  // The exchange's share of a step is measured apart, wherever it happens.
  const auto exchanging = [&phases](auto call) {
    const auto scope = PhaseTimer::Scope::Exchange(phases);
    return call();
  };
  const auto needed = [&](BlockIndex b) {
    return exchanging([&] { return exchange.BlockNeeded(b); });
  };
  const absl::Time begin = parts_.clock->Now();

  phases.Enter(Phase::kData);
  metrics.Set(GaugeId::kDataQueueDepth, source.QueueDepth());
  GG_ASSIGN_OR_RETURN(const Batch batch, source.Next(step, begin + parts_.batch_deadline));
  metrics.Add(CounterId::kDataStallSeconds, absl::ToDoubleSeconds(parts_.clock->Now() - begin));
  const auto commit = [&] {  // nobody reads the store now; what it takes is waiting for a neighbour
    const PhaseTimer::Scope scope(phases, Phase::kCommWait);
    return parts_.ring->Commit();
  };
  GG_RETURN_IF_ERROR(Tolerate(commit(), step));
  if (step + 1 < parts_.total_steps && !LastOfEpoch(step)) {
    source.StartNext(step + 1);  // while the network computes
  }
  GG_RETURN_IF_ERROR(parts_.ring->Begin(batch.slots));  // copied into the batch: free to travel
  GG_RETURN_IF_ERROR(exchanging([&] { return exchange.BeginStep(step); }));
  phases.Enter(Phase::kForward);
  GG_ASSIGN_OR_RETURN(const LossResult sum, network.Forward(step, batch.x, batch.labels, needed));
  const double loss = sum.loss_sum / static_cast<double>(batch.labels.size());
  GG_RETURN_IF_ERROR(CheckFinite(loss, metrics));
  phases.Enter(Phase::kBackward);
  GG_RETURN_IF_ERROR(Backward());
  GG_ASSIGN_OR_RETURN(const ExchangeStats stats,
                      exchanging([&] { return exchange.EndStep(step); }));
  phases.Enter(Phase::kOther);

  phases.DivideExchange(stats.waited, stats.mixed);
  CountPhases();
  metrics.Add(CounterId::kSteps, 1);
  metrics.Add(CounterId::kSamples, static_cast<double>(batch.labels.size()));
  metrics.Set(GaugeId::kLoss, loss);
  metrics.Observe(HistogramId::kStepDuration, absl::ToDoubleSeconds(parts_.clock->Now() - begin));
  return StepResult{loss, stats};
}

absl::Status StepLoop::Backward() {
  const auto ready = [this](BlockIndex b) {
    const auto scope = PhaseTimer::Scope::Exchange(*parts_.phases);
    return parts_.exchange->GradientReady(b);
  };
  if (parts_.clip == nullptr) return parts_.network->Backward(ready);
  held_.clear();
  const auto computed = [&](BlockIndex b) -> absl::Status {
    GG_RETURN_IF_ERROR(parts_.clip->Block(b));
    if (!parts_.clip->needs_all()) return ready(b);
    held_.push_back(b);
    return absl::OkStatus();
  };
  GG_RETURN_IF_ERROR(parts_.network->Backward(computed));
  if (!parts_.clip->needs_all()) return absl::OkStatus();
  GG_RETURN_IF_ERROR(parts_.clip->All());
  for (const BlockIndex b : held_) GG_RETURN_IF_ERROR(ready(b));
  return absl::OkStatus();
}

void StepLoop::CountPhases() {
  for (const Phase phase : kAllPhases) {
    absl::Duration& counted = counted_[static_cast<size_t>(phase)];
    const absl::Duration total = parts_.phases->total(phase);
    parts_.metrics->Add(CounterId::kStepPhaseSeconds, absl::ToDoubleSeconds(total - counted),
                        PhaseName(phase));
    counted = total;
  }
}

}  // namespace gg
