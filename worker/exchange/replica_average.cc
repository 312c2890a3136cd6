// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/replica_average.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/averager.h"
#include "worker/exchange/finite.h"

namespace gg {
namespace {

// All that belongs to a replica and is linear in it.
std::vector<Flat> AveragedParts(ParamArena& arena) {
  std::vector<Flat> parts = {arena.weights()};
  for (int i = 0; i < arena.state_count(); ++i) parts.push_back(arena.state(i));
  parts.push_back(arena.buffers());
  return parts;
}

// Above the numbers of all rounds.
constexpr uint64_t kFirstClosing = uint64_t{1} << 61;

}  // namespace

ReplicaAverage::ReplicaAverage(const ExchangeContext& context) : context_(context) {}

absl::StatusOr<std::shared_ptr<RingState>> ReplicaAverage::Load(std::optional<double> share) {
  auto state = std::make_shared<RingState>();
  for (const Flat part : AveragedParts(*context_.arena)) state->count += part.size();
  if (share) ++state->count;
  GG_ASSIGN_OR_RETURN(state->values, context_.device->Allocate(state->count * sizeof(float)));
  GG_ASSIGN_OR_RETURN(
      state->arrival,
      context_.device->Allocate(RingScratchFloats(state->count, context_.size) * sizeof(float)));
  size_t at = 0;
  for (const Flat part : AveragedParts(*context_.arena)) {
    // The memory is fresh, so zero: what is added to it is a copy, times the weight.
    GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, static_cast<float>(context_.weight),
                                              part, 1,
                                              state->values->floats().subspan(at, part.size())));
    at += part.size();
  }
  if (share) {
    const float a = static_cast<float>(*share);
    const Flat weights = state->values->floats().subspan(0, context_.arena->size());
    GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, 0, weights, a, weights));
    state->values->floats()[at] = a;
  }
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  return state;
}

absl::Status ReplicaAverage::Store(RingState& state, bool shared, double* distance) {
  if (shared) {
    // Both are divided by the number of workers. No share at all: not finite, and refused below.
    const float scale = 1.0f / state.values->floats()[state.count - 1];
    const Flat sum = state.values->floats().subspan(0, context_.arena->size());
    GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, 0, sum, scale, sum));
    GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  }
  const ConstFlat average = state.values->floats().subspan(0, state.count);
  if (!AllFinite(average)) {
    bool own_finite = true;
    for (const Flat part : AveragedParts(*context_.arena)) own_finite &= AllFinite(part);
    return absl::DataLossError(
        absl::StrCat("the average over the replicas is not finite: ",
                     own_finite ? "at least one of the others has diverged"
                                : absl::StrCat("that of rank ", context_.rank, " has diverged")));
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

ReplicaAverage::Outcome ReplicaAverage::Average(uint64_t steps_done, absl::Time deadline,
                                                std::optional<double> share, When when) {
  Outcome outcome;
  if (context_.size == 1) return outcome;
  const uint64_t first = (when == When::kClosing ? kFirstClosing : 0) +
                         steps_done * kCollectivesPerStep + kFirstReplicaAverage;
  number_ = first == first_ ? number_ + 1 : first;
  first_ = first;
  auto state = Load(share);
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
  const RingOutcome ring = RingAverage(*context_.group, *context_.clock, number_, deadline, *state);
  {
    MutexLock lock(&mu_);
    running_ = nullptr;
  }
  outcome.missing = ring.missing;
  outcome.messages_sent = ring.messages_sent;
  outcome.bytes_sent = ring.bytes_sent;
  outcome.messages_received = ring.messages_received;
  outcome.bytes_received = ring.bytes_received;
  outcome.status =
      ring.status.ok() ? Store(**state, share.has_value(), &outcome.distance) : ring.status;
  outcome.status = Annotate(outcome.status, "average over the replicas");
  return outcome;
}

absl::StatusOr<double> ReplicaAverage::Run(uint64_t steps_done, absl::Time deadline,
                                           std::optional<double> share, When when) {
  const Outcome outcome = Average(steps_done, deadline, share, when);
  GG_RETURN_IF_ERROR(outcome.status);
  return outcome.distance;
}

bool ReplicaAverage::Due(uint64_t steps_done) const {
  const int64_t every = context_.spec.average_every;
  return context_.size > 1 && every > 0 && steps_done % every == 0;
}

absl::Status ReplicaAverage::RunPeriodic(uint64_t steps_done, PartnerWatch& watch,
                                         ExchangeStats& stats, std::optional<double> share) {
  const absl::Time start = context_.clock->Now();
  const Outcome outcome = Average(steps_done, start + absl::Seconds(context_.spec.deadline_seconds),
                                  share, When::kTraining);
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
