// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/d_psgd.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/status.h"
#include "worker/exchange/partner_exchange.h"
#include "worker/exchange/replica_average.h"
#include "worker/exchange/rule.h"
#include "worker/exchange/units.h"

namespace gg {
namespace {

constexpr uint64_t kAge = 0;  // both models are those that the step began with

// The messages up the ring are exchanged as units 0 .. n - 1, those down the ring as units n .. 2 n
// - 1: each direction has its own buffers and finds its own partner's messages.
class DPsgd final : public ExchangeStrategy {
 public:
  explicit DPsgd(ExchangeContext context)
      : context_(std::move(context)),
        plan_(PlanUnits(*context_.arena, 1, context_.spec.bucket_bytes)),
        average_(context_) {
    const Rank next = (context_.rank + 1) % context_.size;
    const Rank previous = (context_.rank + context_.size - 1) % context_.size;
    directions_.push_back({.send_to = next, .recv_from = previous});
    if (next != previous) directions_.push_back({.send_to = previous, .recv_from = next});
  }

  absl::Status Build() {
    PartnerMessages messages;
    GG_ASSIGN_OR_RETURN(messages.format, ParseEncoding(context_.spec, context_.seed));
    for (size_t direction = 0; direction < directions_.size(); ++direction) {
      for (const ExchangeUnit& unit : plan_.units) messages.floats.push_back(unit.count);
    }
    messages.distance_units = units();
    GG_ASSIGN_OR_RETURN(link_, PartnerExchange::Create(context_, std::move(messages)));
    return absl::OkStatus();
  }

  absl::string_view name() const override { return "d-psgd"; }

  absl::Status BeginStep(uint64_t step) override {
    GG_RETURN_IF_ERROR(link_->BeginStep(step));
    step_ = step;
    for (const Partners& partners : directions_) link_->Meet(partners);
    for (int u = 0; u < messages(); ++u) link_->Expect(u, directions_[u / units()]);
    for (int u = 0; u < messages(); ++u) {
      const ConstFlat snapshot = Weights(u);
      GG_RETURN_IF_ERROR(
          link_->Share(u, directions_[u / units()], {&snapshot, 1}, /*by_difference=*/true));
    }
    return absl::OkStatus();
  }

  absl::Status BlockNeeded(BlockIndex /*block*/) override { return absl::OkStatus(); }
  absl::Status GradientReady(BlockIndex block) override { return context_.update(block, step_); }

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    for (int u = 0; u < messages(); ++u) GG_RETURN_IF_ERROR(Mix(u));
    steps_done_ = step + 1;
    const uint64_t rounds_done = link_->round() + 1;
    if (average_.Due(rounds_done)) {
      GG_RETURN_IF_ERROR(average_.RunPeriodic(rounds_done, link_->watch(), link_->stats()));
    }
    link_->EndStep();
    return link_->TakeStats();
  }

  absl::StatusOr<ExchangeStats> Settle() override {
    GG_RETURN_IF_ERROR(link_->aborted());
    link_->Settle();
    return link_->TakeStats();
  }

  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    return average_.Run(steps_done_, deadline, std::nullopt, ReplicaAverage::When::kClosing);
  }

  void Abort(absl::Status why) override {
    average_.Abort(why);
    link_->Abort(std::move(why));
  }

 private:
  int units() const { return static_cast<int>(plan_.units.size()); }
  int messages() const { return units() * static_cast<int>(directions_.size()); }
  Flat Weights(int message) const {
    const ExchangeUnit& unit = plan_.units[message % units()];
    return context_.arena->weights().subspan(unit.offset, unit.count);
  }

  absl::Status Mix(int message) {
    UnitExchange& exchange = link_->latest(message);
    exchange.open = false;
    GG_ASSIGN_OR_RETURN(const Flat theirs,
                        link_->Collect(message, exchange, /*by_difference=*/true, kAge));
    if (theirs.empty()) return absl::OkStatus();
    const absl::Time mixing = context_.clock->Now();
    const float share = 1.0f / static_cast<float>(directions_.size() + 1);
    const Flat ours = link_->Sent(message, exchange);
    if (message < units()) GG_RETURN_IF_ERROR(link_->Measure(exchange, ours, theirs));
    GG_RETURN_IF_ERROR(
        context_.device->AddDifference(*context_.stream, share, theirs, ours, Weights(message)));
    link_->Mixed(exchange, mixing, kAge);
    return absl::OkStatus();
  }

  ExchangeContext context_;
  const UnitPlan plan_;
  std::vector<Partners> directions_;
  std::unique_ptr<PartnerExchange> link_;
  ReplicaAverage average_;
  uint64_t step_ = 0;
  uint64_t steps_done_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeDPsgd(ExchangeContext context) {
  auto strategy = std::make_unique<DPsgd>(std::move(context));
  GG_RETURN_IF_ERROR(strategy->Build());
  return strategy;
}

}  // namespace gg
