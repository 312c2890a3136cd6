// SPDX-License-Identifier: Apache-2.0
#include "worker/train/batch_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/apportion.h"
#include "core/status.h"
#include "worker/data/batch_source.h"

namespace gg {
namespace {

constexpr int kWarmUpSteps = 2;  // touch memory, fill caches
constexpr int kLeastSteps = 10;
constexpr absl::Duration kLeastTime = absl::Seconds(1);

// Collectives of a run begin at a number far above (worker/exchange/averager.h).
constexpr uint64_t kCollective = 0;

struct FirstBatch {
  std::vector<float> x;
  std::vector<int32_t> labels;
};

// A set smaller than a batch is used several times.
FirstBatch MakeFirstBatch(const Dataset& data, int64_t samples, double mean, double stddev) {
  FirstBatch batch;
  const size_t per = data.shape.bytes();
  batch.x.resize(static_cast<size_t>(samples) * per);
  for (int64_t i = 0; i < samples; ++i) {
    NormalizePixels(data.sample(i % data.size()), mean, stddev,
                    absl::MakeSpan(batch.x).subspan(static_cast<size_t>(i) * per, per));
    batch.labels.push_back(data.labels[static_cast<size_t>(i % data.size())]);
  }
  return batch;
}

}  // namespace

absl::StatusOr<double> MeasureSpeed(Network& network, const Dataset& data, double mean,
                                    double stddev, Clock& clock,
                                    absl::FunctionRef<absl::Status()> may_continue) {
  const int64_t samples = network.batch_size();
  const FirstBatch batch = MakeFirstBatch(data, samples, mean, stddev);
  const Flat buffers = network.arena().buffers();
  const std::vector<float> saved(buffers.begin(), buffers.end());
  const auto none = [](BlockIndex) { return absl::OkStatus(); };
  absl::Time start;
  int steps = 0;
  const auto measure = [&]() -> absl::Status {
    for (; steps < kWarmUpSteps + kLeastSteps || clock.Now() - start < kLeastTime; ++steps) {
      GG_RETURN_IF_ERROR(may_continue());
      if (steps <= kWarmUpSteps) start = clock.Now();
      GG_RETURN_IF_ERROR(network.Forward(0, batch.x, batch.labels, none).status());
      GG_RETURN_IF_ERROR(network.Backward(none));
    }
    return absl::OkStatus();
  };
  const absl::Status measured = measure();
  std::copy(saved.begin(), saved.end(), buffers.begin());
  GG_RETURN_IF_ERROR(Annotate(measured, "measuring the speed of this worker"));
  return static_cast<double>((steps - kWarmUpSteps) * samples) /
         absl::ToDoubleSeconds(clock.Now() - start);
}

absl::StatusOr<std::vector<int64_t>> ShareBatches(absl::Span<const float> speeds,
                                                  int64_t batch_size, int64_t least) {
  if (batch_size < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batches of ", batch_size, " cannot be shared so that each worker has ", least));
  }
  std::vector<int64_t> weights;
  for (size_t rank = 0; rank < speeds.size(); ++rank) {
    if (std::isnan(speeds[rank])) {
      return absl::InvalidArgumentError(absl::StrCat("the speed of rank ", rank, " is no number"));
    }
    const double samples = std::clamp(static_cast<double>(speeds[rank]), 1e-3, 1e9);
    weights.push_back(std::llround(samples * 1000));
  }
  return Apportion(batch_size * static_cast<int64_t>(speeds.size()), weights, least);
}

absl::StatusOr<std::vector<float>> SpeedTable::Run(double own, absl::Time deadline) {
  const int size = group_.view().size();
  RingState& state = *state_;
  state.count = static_cast<size_t>(size);
  GG_ASSIGN_OR_RETURN(state.values, device_.Allocate(state.count * sizeof(float)));
  GG_ASSIGN_OR_RETURN(state.arrival,
                      device_.Allocate(RingScratchFloats(state.count, size) * sizeof(float)));
  // The average of one value and zeros, times their number, is the value.
  state.values->floats()[static_cast<size_t>(group_.self())] = static_cast<float>(own);
  const RingOutcome outcome = RingAverage(group_, clock_, kCollective, deadline, state_);
  GG_RETURN_IF_ERROR(Annotate(outcome.status, "telling each other the speeds of the workers"));
  std::vector<float> speeds;
  for (const float value : state.values->floats().subspan(0, state.count))
    speeds.push_back(value * static_cast<float>(size));
  return speeds;
}

void SpeedTable::Abort(absl::Status why) {
  MutexLock lock(&state_->monitor.mu);
  if (!state_->aborted.ok() || why.ok()) return;
  state_->aborted = std::move(why);
  state_->monitor.changed.NotifyAll();
}

}  // namespace gg
