// SPDX-License-Identifier: Apache-2.0
//
// Methods that train alone for some steps and average models now and then.
// docs/algorithms/{periodic-average,local-sgd,cocod}.md. With h = spec.period:
//
//   periodic-average  after every h-th step (default ceil(log2 p)) weights, momentum and buffers are
//                     replaced by their mean; the step waits for it
//   local-sgd         the same with h = 8 for what spec.payload names, after every step before the
//                     epoch spec.local_from_epoch (post-local SGD)
//   cocod             the mean of the models at the start of a period is computed while the period's
//                     h = 5 steps run; at its end x <- mean + (x - own start). Momentum stays local.
//
// All three need every worker: who does not answer within spec.collective_seconds ends the job, by
// name.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_PERIODIC_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_PERIODIC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/rule.h"

namespace gg {

// context.size >= 2, group set. kInvalidArgument: local-sgd with payload gradients, which is not a
// model.
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakePeriodicAverage(ExchangeContext context);
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeLocalSgd(ExchangeContext context,
                                                               const Payload& payload);
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeCocod(ExchangeContext context);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_PERIODIC_H_
