// SPDX-License-Identifier: Apache-2.0
//
// Decentralised parallel SGD on a ring: each step, every worker sends the model that it computes its
// gradient at to both neighbours, and mixes theirs in when the gradient has been applied.
// docs/algorithms/d-psgd.md.
//
//   BeginStep      snapshot s of the weights x, sent to both neighbours
//   GradientReady  x <- x - v
//   EndStep        x <- x + sum_j W_ij (s_j - s)     W = 1/3 each, 1/2 for two workers
//
// So x_i <- sum_j W_ij s_j - v_i. A neighbour that is late or lost is left out of the sum. Momentum
// stays local.
//
// Source: Lian et al., "Can Decentralized Algorithms Outperform Centralized Algorithms?", arXiv
// 1705.09056.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_D_PSGD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_D_PSGD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "worker/exchange/exchange.h"

namespace gg {

// context.size >= 2, group set.
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeDPsgd(ExchangeContext context);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_D_PSGD_H_
