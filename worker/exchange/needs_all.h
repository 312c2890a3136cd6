// SPDX-License-Identifier: Apache-2.0
//
// What the methods that need every worker have in common: their averages, the closing one, and how
// long they wait.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_NEEDS_ALL_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_NEEDS_ALL_H_

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/status.h"
#include "worker/exchange/averager.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/finite.h"
#include "worker/exchange/replica_average.h"

namespace gg {

class NeedsAll : public ExchangeStrategy {
 public:
  explicit NeedsAll(ExchangeContext context) : context_(std::move(context)), average_(context_) {}

  absl::Status BeginStep(uint64_t step) override {
    step_ = step;
    return average_.aborted();
  }
  absl::StatusOr<ExchangeStats> Settle() override {
    GG_RETURN_IF_ERROR(average_.aborted());
    return std::exchange(stats_, ExchangeStats());
  }
  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    return average_.Run(steps_done_, deadline);
  }
  void Abort(absl::Status why) override {
    average_.Abort(why);
    averager_->Abort(std::move(why));
  }

 protected:
  // By when every worker has to have answered.
  absl::Time Deadline() const {
    return context_.clock->Now() + absl::Seconds(context_.spec.collective_seconds);
  }

  // OK where `mean` is finite; else who is to blame, as far as one worker can tell: whether its own
  // part, `own`, was. Every worker says this of itself, so that one of them names the culprit.
  absl::Status CheckMean(ConstFlat mean, absl::Span<const ConstFlat> own,
                         absl::string_view what) const {
    if (AllFinite(mean)) return absl::OkStatus();
    bool own_finite = true;
    for (const ConstFlat part : own) own_finite = own_finite && AllFinite(part);
    return absl::DataLossError(absl::StrCat(
        "the mean of the ", what, " is not finite, ",
        own_finite ? "though this worker's own are: another worker has diverged"
                   : absl::StrCat("because those of rank ", context_.rank,
                                  " are not: lower spec.learning_rate.base or look at its data")));
  }

  ExchangeContext context_;
  ReplicaAverage average_;
  std::unique_ptr<Averager> averager_;  // made by the method before its first step
  uint64_t step_ = 0;
  uint64_t steps_done_ = 0;
  ExchangeStats stats_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_NEEDS_ALL_H_
