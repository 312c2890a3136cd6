// SPDX-License-Identifier: Apache-2.0
//
// Synchronous SGD whose update is shared out: every worker owns a strip of each unit of layers, and
// its momentum. docs/algorithms/reduce-scatter.md.
//
//   gradients of a unit there   begin the reduce-scatter of the unit
//   our strip of the mean there update our strip, begin the all-gather of the unit's weights
//   unit needed, or Settle      wait for its all-gather
//
// What has come is looked at in every hook. The all-gathers begin in the order in which the next
// forward pass needs the layers, first layer first. All replicas stay equal bit for bit. A step
// cannot go on without every worker: who does not answer within spec.collective_seconds ends the
// job, by name.
//
// Source: Das et al., "Distributed Deep Learning Using Synchronous Stochastic Gradient Descent",
// arXiv 1602.06709.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_REDUCE_SCATTER_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_REDUCE_SCATTER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/exchange/exchange.h"

namespace gg {

// context.size >= 2, group and update_range set. kInvalidArgument: spec.collective has no
// reduce-scatter for so many workers.
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeReduceScatter(ExchangeContext context);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_REDUCE_SCATTER_H_
