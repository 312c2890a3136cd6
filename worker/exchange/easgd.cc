// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/easgd.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/finite.h"
#include "worker/exchange/needs_all.h"
#include "worker/exchange/partner_watch.h"
#include "worker/exchange/pull_method.h"
#include "worker/exchange/rule.h"

namespace gg {
namespace {

constexpr uint64_t kDefaultPeriod = 4;

uint64_t PeriodOf(const ExchangeSpec& spec) {
  return spec.period > 0 ? static_cast<uint64_t>(spec.period) : kDefaultPeriod;
}

// Gives the centre to the replica, once momentum and buffers have been averaged by `average`.
template <typename Average>
absl::StatusOr<double> EndInCentre(const ExchangeContext& context, ConstFlat centre,
                                   Average average) {
  if (!AllFinite(centre)) {
    return absl::DataLossError("the centre is not finite: at least one replica has diverged");
  }
  const Flat weights = context.arena->weights();
  GG_ASSIGN_OR_RETURN(const double squared,
                      context.device->SquaredDistance(*context.stream, weights, centre));
  GG_RETURN_IF_ERROR(average().status());
  GG_RETURN_IF_ERROR(context.device->Copy(*context.stream, centre, weights));
  GG_RETURN_IF_ERROR(context.stream->Synchronize());
  return std::sqrt(squared);
}

class SyncEasgd final : public NeedsAll {
 public:
  explicit SyncEasgd(ExchangeContext context)
      : NeedsAll(std::move(context)),
        watch_(context_),
        beta_(static_cast<float>(context_.spec.elastic_beta)),
        alpha_(static_cast<float>(context_.spec.elastic_beta / context_.size)),
        period_(PeriodOf(context_.spec)) {}

  absl::Status Build() {
    const size_t floats = context_.arena->size();
    GG_ASSIGN_OR_RETURN(averager_, Averager::Create(context_, {{.floats = floats}}));
    GG_ASSIGN_OR_RETURN(centre_, context_.device->Allocate(floats * sizeof(float)));
    GG_ASSIGN_OR_RETURN(const WireFormat format, ParseEncoding(context_.spec, context_.seed));
    if (format.encoding == Encoding::kFp32) return absl::OkStatus();
    GG_ASSIGN_OR_RETURN(difference_, context_.device->Allocate(floats * sizeof(float)));
    return absl::OkStatus();
  }

  absl::string_view name() const override { return "easgd"; }

  absl::Status BeginStep(uint64_t step) override {
    GG_RETURN_IF_ERROR(NeedsAll::BeginStep(step));
    if (std::exchange(begun_, true)) return absl::OkStatus();
    // Where all replicas begin.
    GG_RETURN_IF_ERROR(
        context_.device->Copy(*context_.stream, context_.arena->weights(), Centre()));
    return context_.stream->Synchronize();
  }
  absl::Status BlockNeeded(BlockIndex /*block*/) override { return absl::OkStatus(); }
  absl::Status GradientReady(BlockIndex block) override { return context_.update(block, step_); }

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    steps_done_ = step + 1;
    if (steps_done_ % period_ == 0) GG_RETURN_IF_ERROR(Pull());
    if (average_.Due(steps_done_)) {
      GG_RETURN_IF_ERROR(average_.RunPeriodic(steps_done_, watch_, stats_));
    }
    context_.group->Expire(Channel::kCollective, step * kCollectivesPerStep);
    return std::exchange(stats_, ExchangeStats());
  }

  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    return EndInCentre(context_, Centre(), [&] { return average_.Run(steps_done_, deadline); });
  }

 private:
  Flat Centre() { return centre_->floats().subspan(0, context_.arena->size()); }

  absl::Status Pull() {
    const Flat live = context_.arena->weights();
    ConstFlat part = live;
    if (difference_ != nullptr) {
      // A centre that was rounded would forget what a period adds to it; rounded is what it gains.
      const Flat difference = difference_->floats().subspan(0, live.size());
      GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, Centre(), difference));
      GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, 1, live, -1, difference));
      part = difference;
    }
    GG_RETURN_IF_ERROR(averager_->Start(0, step_, {&part, 1}, stats_));
    const absl::StatusOr<Flat> mean = averager_->Await(0, Deadline(), stats_);
    const std::string what = absl::StrCat("easgd of step ", step_);
    if (!mean.ok()) return Annotate(mean.status(), what);
    if (!AllFinite(*mean)) {
      return absl::DataLossError(
          absl::StrCat(what, ": the mean of the models is not finite, because a replica's is not"));
    }
    const absl::Time start = context_.clock->Now();
    GG_RETURN_IF_ERROR(
        context_.device->Axpby(*context_.stream, alpha_, Centre(), 1 - alpha_, live));
    const float kept = difference_ != nullptr ? 1 : 1 - beta_;
    GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, beta_, *mean, kept, Centre()));
    GG_RETURN_IF_ERROR(context_.stream->Synchronize());
    stats_.mixed += context_.clock->Now() - start;
    return absl::OkStatus();
  }

  PartnerWatch watch_;
  const float beta_, alpha_;
  const uint64_t period_;
  bool begun_ = false;
  std::unique_ptr<Buffer> centre_;
  std::unique_ptr<Buffer> difference_;  // to it, that travels; null: without encoding
};

class AsyncEasgd final : public PullMethod {
 public:
  // `strip`: floats of the largest one.
  AsyncEasgd(ExchangeContext context, size_t strip, double alpha, WireFormat format)
      : PullMethod(std::move(context), "easgd", strip, /*pool=*/0, alpha, format),
        alpha_(static_cast<float>(alpha)),
        period_(PeriodOf(context_.spec)) {}

  absl::Status Build() {
    const size_t floats = context_.arena->size();
    GG_ASSIGN_OR_RETURN(centre_, context_.device->Allocate(floats * sizeof(float)));
    GG_ASSIGN_OR_RETURN(own_pull_, context_.device->Allocate(Own().size() * sizeof(float)));
    GG_ASSIGN_OR_RETURN(
        gather_,
        Averager::Create(context_,
                         {{.op = CollectiveOp::kAllGather, .floats = floats, .exact = true}}));
    return absl::OkStatus();
  }

  absl::Status BeginStep(uint64_t step) override {
    if (!std::exchange(begun_, true)) {
      // Where all replicas begin.
      GG_RETURN_IF_ERROR(
          context_.device->Copy(*context_.stream, context_.arena->weights(), Centre()));
      GG_RETURN_IF_ERROR(context_.stream->Synchronize());
    }
    gathered_ = Flat();
    return PullMethod::BeginStep(step);
  }

  void Abort(absl::Status why) override {
    gather_->Abort(why);
    PullMethod::Abort(std::move(why));
  }

 private:
  Flat StripOf(Flat floats, Rank rank) const {
    const Range range = Strip(floats.size(), context_.size, rank);
    return floats.subspan(range.begin, range.size());
  }
  // Of which our own strip alone is the centre, until the end.
  Flat Centre() { return centre_->floats().subspan(0, context_.arena->size()); }
  Flat Asked(Rank to) override { return StripOf(context_.arena->weights(), to); }
  Flat Own() override { return StripOf(Centre(), context_.rank); }
  ConstFlat Reference() override { return Centre(); }
  // A strip stands for the model; of p models at a distance D from their mean two are, in the root
  // mean square, sqrt(2 p / (p - 1)) D apart.
  double DistanceScale() override {
    const double p = context_.size;
    const double strip = static_cast<double>(std::max<size_t>(Own().size(), 1));
    return static_cast<double>(context_.arena->size()) / strip * 2 * p / (p - 1);
  }

  absl::Status AfterStep() override {
    AnythingOpen();  // gives up those that are late
    if ((step_ + 1) % period_ != 0) return absl::OkStatus();
    GG_RETURN_IF_ERROR(PullOwnStrip());
    for (int i = 1; i < context_.size; ++i) {
      // Everybody begins with another one.
      const Rank to = (context_.rank + i) % context_.size;
      if (!Asking(to) && !Asked(to).empty()) GG_RETURN_IF_ERROR(Ask(to));
    }
    return absl::OkStatus();
  }

  absl::Status PullOwnStrip() {
    const Flat own = Own(), live = Asked(context_.rank);
    // Our model is judged as those of others are: the strip is everybody's.
    Mailbox::Arrival ours;
    ours.from = context_.rank;
    ours.body = live;
    if (!Acceptable(ours, Reference(), 0)) return absl::OkStatus();
    const Flat pull = own_pull_->floats().subspan(0, own.size());
    Device& device = *context_.device;
    Stream& stream = *context_.stream;
    GG_RETURN_IF_ERROR(device.Copy(stream, live, pull));
    GG_RETURN_IF_ERROR(device.Axpby(stream, -alpha_, own, alpha_, pull));
    GG_RETURN_IF_ERROR(device.Axpby(stream, 1, pull, 1, own));
    GG_RETURN_IF_ERROR(device.Axpby(stream, -1, pull, 1, live));
    return stream.Synchronize();
  }

  absl::StatusOr<double> Close(absl::Time deadline) override {
    if (gathered_.empty()) {
      const ConstFlat part = Centre();
      // With the number of the step that would follow: those of this one end with the periodic average.
      GG_RETURN_IF_ERROR(gather_->Start(0, step_ + 1, {&part, 1}, stats_));
      const absl::StatusOr<Flat> centre = gather_->Await(0, deadline, stats_);
      if (!centre.ok()) return Annotate(centre.status(), "gathering the centre");
      gathered_ = *centre;
    }
    return EndInCentre(context_, gathered_, [&] { return PullMethod::Close(deadline); });
  }

  const float alpha_;
  const uint64_t period_;
  bool begun_ = false;
  std::unique_ptr<Buffer> centre_, own_pull_;
  std::unique_ptr<Averager> gather_;
  Flat gathered_;  // the whole centre, of gather_; empty until the end
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeEasgd(ExchangeContext context) {
  const double beta = context.spec.elastic_beta;
  if (!(beta > 0 && beta <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange elastic_beta must be above 0 and at most 1, not ", beta));
  }
  const auto built = [](auto strategy) -> absl::StatusOr<std::unique_ptr<ExchangeStrategy>> {
    GG_RETURN_IF_ERROR(strategy->Build());
    return strategy;
  };
  if (context.spec.asynchronous) {
    const size_t strip = Strip(context.arena->size(), context.size, 0).size();
    const double alpha = beta / context.size;
    GG_ASSIGN_OR_RETURN(const WireFormat format, ParseEncoding(context.spec, context.seed));
    return built(std::make_unique<AsyncEasgd>(std::move(context), strip, alpha, format));
  }
  return built(std::make_unique<SyncEasgd>(std::move(context)));
}

}  // namespace gg
