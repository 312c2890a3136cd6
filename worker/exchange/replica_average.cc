// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/replica_average.h"

#include <array>
#include <cmath>
#include <utility>

#include "core/status.h"
#include "worker/exchange/averager.h"
#include "worker/exchange/finite.h"

namespace gg {
namespace {

std::array<Flat, 3> AveragedParts(ParamArena& arena) {
  return {arena.weights(), arena.momentum(), arena.buffers()};
}

}  // namespace

ReplicaAverage::ReplicaAverage(const ExchangeContext& context) : context_(context) {}

absl::StatusOr<std::shared_ptr<RingState>> ReplicaAverage::Load() {
  auto state = std::make_shared<RingState>();
  for (const Flat part : AveragedParts(*context_.arena)) state->count += part.size();
  GG_ASSIGN_OR_RETURN(state->values, context_.device->Allocate(state->count * sizeof(float)));
  GG_ASSIGN_OR_RETURN(
      state->arrival,
      context_.device->Allocate(RingScratchFloats(state->count, context_.size) * sizeof(float)));
  size_t at = 0;
  for (const Flat part : AveragedParts(*context_.arena)) {
    GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, part,
                                             state->values->floats().subspan(at, part.size())));
    at += part.size();
  }
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  return state;
}

absl::Status ReplicaAverage::Store(RingState& state, double* distance) {
  const ConstFlat average = state.values->floats().subspan(0, state.count);
  if (!AllFinite(average)) {
    return absl::DataLossError(
        "the average over the replicas is not finite: at least one of them has diverged");
  }
  const Flat weights = context_.arena->weights();
  GG_ASSIGN_OR_RETURN(const double squared,
                      context_.device->SquaredDistance(*context_.stream, weights,
                                                       average.subspan(0, weights.size())));
  *distance = std::sqrt(squared);
  size_t at = 0;
  for (const Flat part : AveragedParts(*context_.arena)) {
    GG_RETURN_IF_ERROR(
        context_.device->Copy(*context_.stream, average.subspan(at, part.size()), part));
    at += part.size();
  }
  return context_.stream->Synchronize();
}

ReplicaAverage::Outcome ReplicaAverage::Average(uint64_t steps_done, absl::Time deadline) {
  Outcome outcome;
  if (context_.size == 1) return outcome;
  repeats_ = steps_done == last_steps_done_ ? repeats_ + 1 : 0;
  last_steps_done_ = steps_done;
  auto state = Load();
  if (!state.ok()) {
    outcome.status = Annotate(state.status(), "average over the replicas");
    return outcome;
  }
  {
    MutexLock lock(&mu_);
    MutexLock state_lock(&(*state)->monitor.mu);
    (*state)->aborted = aborted_;
    running_ = *state;
  }
  const RingOutcome ring = RingAverage(
      *context_.group, *context_.clock,
      steps_done * kCollectivesPerStep + kFirstReplicaAverage + repeats_, deadline, *state);
  {
    MutexLock lock(&mu_);
    running_ = nullptr;
  }
  outcome.missing = ring.missing;
  outcome.messages_sent = ring.messages_sent;
  outcome.bytes_sent = ring.bytes_sent;
  outcome.messages_received = ring.messages_received;
  outcome.bytes_received = ring.bytes_received;
  outcome.status = ring.status.ok() ? Store(**state, &outcome.distance) : ring.status;
  outcome.status = Annotate(outcome.status, "average over the replicas");
  return outcome;
}

absl::StatusOr<double> ReplicaAverage::Run(uint64_t steps_done, absl::Time deadline) {
  const Outcome outcome = Average(steps_done, deadline);
  GG_RETURN_IF_ERROR(outcome.status);
  return outcome.distance;
}

bool ReplicaAverage::Due(uint64_t steps_done) const {
  const int64_t every = context_.spec.average_every;
  return context_.size > 1 && every > 0 && steps_done % every == 0;
}

absl::Status ReplicaAverage::RunPeriodic(uint64_t steps_done, PartnerWatch& watch,
                                         ExchangeStats& stats) {
  const absl::Time start = context_.clock->Now();
  const Outcome outcome =
      Average(steps_done, start + absl::Seconds(context_.spec.deadline_seconds));
  stats.waited += context_.clock->Now() - start;
  stats.messages_sent += outcome.messages_sent;
  stats.bytes_sent += outcome.bytes_sent;
  MetricSink& metrics = *context_.metrics;
  metrics.Add(CounterId::kGossipMessages, static_cast<double>(outcome.messages_sent),
              {"sent", context_.transport});
  metrics.Add(CounterId::kGossipBytes, static_cast<double>(outcome.bytes_sent),
              {"sent", context_.transport});
  metrics.Add(CounterId::kGossipMessages, static_cast<double>(outcome.messages_received),
              {"received", context_.transport});
  metrics.Add(CounterId::kGossipBytes, static_cast<double>(outcome.bytes_received),
              {"received", context_.transport});
  GG_RETURN_IF_ERROR(aborted());
  if (!outcome.status.ok()) watch.AverageFailed(outcome.missing, steps_done - 1, outcome.status);
  return absl::OkStatus();
}

absl::Status ReplicaAverage::aborted() {
  MutexLock lock(&mu_);
  return aborted_;
}

void ReplicaAverage::Abort(absl::Status why) {
  MutexLock lock(&mu_);
  if (!aborted_.ok() || why.ok()) return;
  aborted_ = why;
  if (running_ == nullptr) return;
  MutexLock state_lock(&running_->monitor.mu);
  running_->aborted = std::move(why);
  running_->monitor.changed.NotifyAll();
}

}  // namespace gg
