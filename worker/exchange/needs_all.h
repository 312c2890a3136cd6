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

#include "core/status.h"
#include "worker/exchange/averager.h"
#include "worker/exchange/exchange.h"
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

  ExchangeContext context_;
  ReplicaAverage average_;
  std::unique_ptr<Averager> averager_;  // made by the method before its first step
  uint64_t step_ = 0;
  uint64_t steps_done_ = 0;
  ExchangeStats stats_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_NEEDS_ALL_H_
