// SPDX-License-Identifier: Apache-2.0
//
// Elastic averaging: every spec.period steps (default 4) each model and a common centre pull at each
// other; docs/algorithms/easgd.md. With beta = spec.elastic_beta and alpha = beta / p:
//
//   synchronous   every worker has the centre c; with m the mean of the models
//                 x_i <- x_i - alpha (x_i - c),  c <- c + beta (m - c)
//   asynchronous  the centre is cut into p strips, strip r kept by worker r. A worker sends the
//                 strips of its model to their owners and trains on. An owner computes, when its
//                 next step begins, d = alpha (x - c), adds it to c and answers it; the worker
//                 subtracts d when it comes. The sum of models and centre does not change, whatever
//                 the delays.
//
// The result of the training is the centre: AverageReplicas gives it to all, and the mean of
// momentum and buffers with it.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_EASGD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_EASGD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/exchange/exchange.h"

namespace gg {

// context.size >= 2, group set. kInvalidArgument: elastic_beta outside (0, 1].
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeEasgd(ExchangeContext context);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_EASGD_H_
