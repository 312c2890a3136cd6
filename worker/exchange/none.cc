// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/none.h"

#include <utility>

#include "core/status.h"
#include "worker/exchange/partner_watch.h"
#include "worker/exchange/replica_average.h"

namespace gg {
namespace {

class NoExchange final : public ExchangeStrategy {
 public:
  NoExchange(ExchangeContext context, absl::string_view name)
      : context_(std::move(context)), name_(name), watch_(context_), average_(context_) {}

  absl::string_view name() const override { return name_; }

  absl::Status BeginStep(uint64_t step) override {
    step_ = step;
    return average_.aborted();
  }
  absl::Status BlockNeeded(BlockIndex /*block*/) override { return absl::OkStatus(); }
  absl::Status GradientReady(BlockIndex block) override { return context_.update(block, step_); }

  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override {
    ExchangeStats stats;
    steps_done_ = step + 1;
    if (average_.Due(steps_done_)) {
      GG_RETURN_IF_ERROR(average_.RunPeriodic(steps_done_, watch_, stats));
    }
    return stats;
  }

  absl::StatusOr<ExchangeStats> Settle() override {
    GG_RETURN_IF_ERROR(average_.aborted());
    return ExchangeStats();
  }

  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    return average_.Run(steps_done_, deadline);
  }

  void Abort(absl::Status why) override { average_.Abort(std::move(why)); }

 private:
  ExchangeContext context_;
  const std::string name_;
  PartnerWatch watch_;
  ReplicaAverage average_;
  uint64_t step_ = 0;
  uint64_t steps_done_ = 0;
};

}  // namespace

std::unique_ptr<ExchangeStrategy> MakeNoExchange(ExchangeContext context, absl::string_view name) {
  return std::make_unique<NoExchange>(std::move(context), name);
}

}  // namespace gg
