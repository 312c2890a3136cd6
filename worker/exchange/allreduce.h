// SPDX-License-Identifier: Apache-2.0
//
// Synchronous SGD: every step uses the mean gradient of all workers, and all replicas stay equal bit
// for bit. docs/algorithms/allreduce.md.
//
//   allreduce            one collective of all gradients at the end of back-propagation, waited for
//   allreduce-layerwise  one per unit of layers, begun when its gradient is there; the unit is
//                        updated, with the rate of its own step, where it is next needed
//
// A step cannot go on without every worker: who does not answer within spec.collective_seconds ends
// the job, by name.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_ALLREDUCE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_ALLREDUCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/exchange/exchange.h"

namespace gg {

// context.size >= 2, group set.
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeAllReduce(ExchangeContext context,
                                                                bool layerwise);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_ALLREDUCE_H_
