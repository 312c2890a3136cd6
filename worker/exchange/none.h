// SPDX-License-Identifier: Apache-2.0
//
// No exchange: every worker trains its own replica with plain SGD, updated as soon as a gradient is
// ready. With average_every the replicas are averaged exactly from time to time (local SGD). Every
// algorithm is this one when there is a single worker, so that it equals sequential training bit
// for bit.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_NONE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_NONE_H_

#include <memory>
#include <string>

#include "worker/exchange/exchange.h"

namespace gg {

// `name` is the algorithm that was asked for.
std::unique_ptr<ExchangeStrategy> MakeNoExchange(ExchangeContext context, absl::string_view name);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_NONE_H_
