// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/periodic.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/needs_all.h"
#include "worker/exchange/rule.h"

namespace gg {
namespace {

uint64_t CeilLog2(int size) {
  return static_cast<uint64_t>(std::bit_width(static_cast<unsigned>(size - 1)));
}

size_t CountOf(const std::vector<Flat>& parts) {
  size_t floats = 0;
  for (const Flat part : parts) floats += part.size();
  return floats;
}

// What the three have in common: every gradient is applied where it was computed. With an encoding what
// travels is the difference to the mean before, which all have the bits of: rounding then costs a share
// of what the steps since have changed, not of the weights (docs/algorithms/encodings.md).
class LocalSteps : public NeedsAll {
 public:
  LocalSteps(ExchangeContext context, std::string name, std::vector<Flat> parts, uint64_t period)
      : NeedsAll(std::move(context)),
        name_(std::move(name)),
        parts_(std::move(parts)),
        period_(context_.spec.period > 0 ? static_cast<uint64_t>(context_.spec.period) : period) {}

  absl::Status Build() {
    const size_t floats = CountOf(parts_);
    GG_ASSIGN_OR_RETURN(averager_, Averager::Create(context_, {{.floats = floats}}));
    GG_ASSIGN_OR_RETURN(const WireFormat format, ParseEncoding(context_.spec, context_.seed));
    if (format.encoding == Encoding::kFp32) return absl::OkStatus();
    GG_ASSIGN_OR_RETURN(last_mean_, context_.device->Allocate(floats * sizeof(float)));
    GG_ASSIGN_OR_RETURN(difference_, context_.device->Allocate(floats * sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status BeginStep(uint64_t step) override {
    GG_RETURN_IF_ERROR(NeedsAll::BeginStep(step));
    if (last_mean_ == nullptr || std::exchange(begins_equal_, true)) return absl::OkStatus();
    // All begin with one model: the coordinator has compared its fingerprints.
    size_t at = 0;
    for (const Flat live : parts_) {
      GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, live,
                                               last_mean_->floats().subspan(at, live.size())));
      at += live.size();
    }
    return context_.stream->Synchronize();
  }

  absl::string_view name() const override { return name_; }
  absl::Status BlockNeeded(BlockIndex /*block*/) override { return absl::OkStatus(); }
  absl::Status GradientReady(BlockIndex block) override { return context_.update(block, step_); }

 protected:
  absl::Status StartAverage(absl::Span<const ConstFlat> parts) {
    begun_ = step_;
    if (last_mean_ == nullptr) return averager_->Start(0, step_, parts, stats_);
    size_t at = 0;
    for (const ConstFlat part : parts) {
      const Flat into = difference_->floats().subspan(at, part.size());
      const ConstFlat last = last_mean_->floats().subspan(at, part.size());
      GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, last, into));
      GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, 1, part, -1, into));
      at += part.size();
    }
    const ConstFlat difference = difference_->floats().subspan(0, at);
    return averager_->Start(0, step_, {&difference, 1}, stats_);
  }

  // `own` is what the average was begun with.
  absl::StatusOr<Flat> AwaitAverage(absl::Time deadline, absl::Span<const ConstFlat> own) {
    absl::StatusOr<Flat> mean = averager_->Await(0, deadline, stats_);
    if (mean.ok() && last_mean_ != nullptr) {
      const Flat last = last_mean_->floats().subspan(0, mean->size());
      GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, 1, *mean, 1, last));
      GG_RETURN_IF_ERROR(context_.stream->Synchronize());
      mean = last;
    }
    const absl::Status status = mean.ok() ? CheckMean(*mean, own, "models") : mean.status();
    if (!status.ok()) return Annotate(status, absl::StrCat(name_, " of step ", begun_));
    return mean;
  }

  absl::StatusOr<ExchangeStats> Finish(uint64_t step) {
    steps_done_ = step + 1;
    context_.group->Expire(Channel::kCollective, begun_ * kCollectivesPerStep);
    return std::exchange(stats_, ExchangeStats());
  }

  const std::string name_;
  const std::vector<Flat> parts_;  // of the arena, that are averaged
  const uint64_t period_;
  uint64_t begun_ = 0;                  // step of the last average
  std::unique_ptr<Buffer> last_mean_;   // null: without encoding
  std::unique_ptr<Buffer> difference_;  // to it, that travels
  bool begins_equal_ = false;           // last_mean_ holds the model that all began with
};

// periodic-average and local-sgd.
class WaitedFor final : public LocalSteps {
 public:
  using LocalSteps::LocalSteps;

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    const bool alone_yet = step >= together_until();
    if (!alone_yet || (step + 1) % period_ == 0) GG_RETURN_IF_ERROR(Average());
    return Finish(step);
  }

 private:
  // Post-local SGD: before this step every step is averaged.
  uint64_t together_until() const {
    return static_cast<uint64_t>(context_.spec.local_from_epoch *
                                 static_cast<double>(context_.steps_per_epoch));
  }

  absl::Status Average() {
    const std::vector<ConstFlat> parts(parts_.begin(), parts_.end());
    GG_RETURN_IF_ERROR(StartAverage(parts));
    GG_ASSIGN_OR_RETURN(const Flat mean, AwaitAverage(Deadline(), parts));
    const absl::Time start = context_.clock->Now();
    size_t at = 0;
    for (const Flat live : parts_) {
      GG_RETURN_IF_ERROR(
          context_.device->Copy(*context_.stream, mean.subspan(at, live.size()), live));
      at += live.size();
    }
    GG_RETURN_IF_ERROR(context_.stream->Synchronize());
    stats_.mixed += context_.clock->Now() - start;
    return absl::OkStatus();
  }
};

class Cocod final : public LocalSteps {
 public:
  using LocalSteps::LocalSteps;

  absl::Status BuildSnapshot() {
    GG_RETURN_IF_ERROR(Build());
    GG_ASSIGN_OR_RETURN(snapshot_,
                        context_.device->Allocate(context_.arena->size() * sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status BeginStep(uint64_t step) override {
    GG_RETURN_IF_ERROR(LocalSteps::BeginStep(step));
    if (step % period_ != 0) return absl::OkStatus();
    GG_RETURN_IF_ERROR(TakeMean(Deadline()));
    const Flat start = Snapshot();
    GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, context_.arena->weights(), start));
    const ConstFlat part = start;
    return StartAverage({&part, 1});
  }

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override { return Finish(step); }

  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    // The mean of the models does not change by it, but the distance does: everybody ends the run as
    // if another period were to begin.
    GG_RETURN_IF_ERROR(TakeMean(deadline));
    return LocalSteps::AverageReplicas(deadline);
  }

 private:
  Flat Snapshot() { return snapshot_->floats().subspan(0, context_.arena->size()); }

  // x <- mean + (x - start): the mean of where the period began, and what we did in it.
  absl::Status TakeMean(absl::Time deadline) {
    if (!averager_->busy(0)) return absl::OkStatus();
    const ConstFlat began = Snapshot();
    GG_ASSIGN_OR_RETURN(const Flat mean, AwaitAverage(deadline, {&began, 1}));
    const absl::Time start = context_.clock->Now();
    GG_RETURN_IF_ERROR(context_.device->AddDifference(*context_.stream, 1, mean, Snapshot(),
                                                      context_.arena->weights()));
    GG_RETURN_IF_ERROR(context_.stream->Synchronize());
    stats_.mixed += context_.clock->Now() - start;
    return absl::OkStatus();
  }

  std::unique_ptr<Buffer> snapshot_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakePeriodicAverage(ExchangeContext context) {
  ParamArena& arena = *context.arena;
  std::vector<Flat> parts = {arena.weights()};
  for (int i = 0; i < arena.state_count(); ++i) parts.push_back(arena.state(i));
  parts.push_back(arena.buffers());
  if (arena.state_count() > 1 && context.spec.encoding != "fp32") {
    return absl::InvalidArgumentError(absl::StrCat(
        "exchange.algorithm periodic-average also averages second moments, which do not bear being "
        "rounded to ",
        context.spec.encoding, ": use exchange.encoding fp32, or algorithm local-sgd"));
  }
  const uint64_t period = std::max<uint64_t>(1, CeilLog2(context.size));
  auto strategy =
      std::make_unique<WaitedFor>(std::move(context), "periodic-average", std::move(parts), period);
  GG_RETURN_IF_ERROR(strategy->Build());
  return strategy;
}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeLocalSgd(ExchangeContext context,
                                                               const Payload& payload) {
  if (payload.before_update) {
    return absl::InvalidArgumentError(
        "exchange.algorithm local-sgd averages models: use exchange.payload weights or "
        "weights-momentum");
  }
  std::vector<Flat> parts = payload.PartsOf(*context.arena);
  parts.push_back(context.arena->buffers());
  auto strategy = std::make_unique<WaitedFor>(std::move(context), "local-sgd", std::move(parts), 8);
  GG_RETURN_IF_ERROR(strategy->Build());
  return strategy;
}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeCocod(ExchangeContext context) {
  std::vector<Flat> parts = {context.arena->weights()};
  auto strategy = std::make_unique<Cocod>(std::move(context), "cocod", std::move(parts), 5);
  GG_RETURN_IF_ERROR(strategy->BuildSnapshot());
  return strategy;
}

}  // namespace gg
