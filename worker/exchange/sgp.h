// SPDX-License-Identifier: Apache-2.0
//
// Stochastic gradient push: each step, every worker pushes half of its model to the partner that the
// schedule names, and takes in what has been pushed to it. docs/algorithms/sgp.md.
//
// Push-sum: a worker holds a numerator x and a weight w (1 at first) and computes gradients at
// z = x / w. Between steps the arena holds z; from GradientReady to EndStep it holds x.
//
//   GradientReady  x <- x - v                                           x = w z
//   EndStep        push (x / 2, w / 2) to send_to, keep the other half
//   take in        x <- x + x_s ; w <- w + w_s ; z = x / w              for each push (x_s, w_s)
//
// overlap          taken in at    waits for
// none, layerwise  EndStep        the push of this round of recv_from
// step             BeginStep      the push of a round spec.staleness_bound (0 = 1) before the last
//
// What is waited for comes within deadline_seconds or is taken in later, whenever it comes; so does
// what came for a round that this worker has not reached. A push that could not be sent is taken
// back. So sum x / sum w, over the workers and what is under way, moves as if nobody had pushed
// anything, however late messages are. A push travels as z and w / 2; with an encoding as Q(z),
// and 2 z - Q(z) stays. Momentum stays local.
//
// Source: Assran, Loizou, Ballas, Rabbat, "Stochastic Gradient Push for Distributed Deep Learning",
// arXiv 1811.10792.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_SGP_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_SGP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/schedule/schedule.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/rule.h"

namespace gg {

// context.size >= 2, group set.
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeSgp(
    ExchangeContext context, Overlap overlap, std::unique_ptr<PartnerSchedule> schedule);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_SGP_H_
