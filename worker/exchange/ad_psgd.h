// SPDX-License-Identifier: Apache-2.0
//
// AD-PSGD: after a step, when no request of its own is open, a worker asks another one, drawn at
// random, to average their models, and trains on; docs/algorithms/ad-psgd.md, pull_method.h with a
// share of 1/2. Nobody waits, so nobody can wait for each other: any number of workers, any pairs.
// Of two that ask each other at the same time the lower rank is answered and the higher is not:
// both would exchange their models instead of averaging them.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_AD_PSGD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_AD_PSGD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/pull_method.h"

namespace gg {

class AdPsgd final : public PullMethod {
 public:
  // context.size >= 2, group set.
  static absl::StatusOr<std::unique_ptr<ExchangeStrategy>> Create(ExchangeContext context);

 private:
  AdPsgd(ExchangeContext context, size_t floats, WireFormat format);
  absl::Status AfterStep() override;
  Flat Asked(Rank /*to*/) override { return context_.arena->weights(); }
  Flat Own() override { return context_.arena->weights(); }
  bool TurnsDown(const Mailbox::Arrival& request) override;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_AD_PSGD_H_
