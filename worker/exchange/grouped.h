// SPDX-License-Identifier: Apache-2.0
//
// Schedule hierarchical: the workers of a group average their gradients exactly in every step, and the
// groups meet like single workers, by any method that has partners. docs/algorithms/hierarchical.md.
//
// A decorator: the inner method runs among the workers that have the same place in their groups, once
// per place. A unit's gradient is averaged inside the group when it is there; the inner method's
// GradientReady follows when the mean is, in order, at a later hook and at EndStep at the latest. So
// all members of a group make the same updates and stay equal.
//
// They drift when one of them misses a partner that another met, or meets one that has drifted. Behind
// the first unit of every step travels a hash of every member's replica; where the hashes differ the
// group averages its replicas before anybody updates. So what a method with overlap none or layerwise
// sends is equal in the whole group again. With overlap step it was sent before; what others make of
// it halves from step to step until no bit differs. With the hashes travel the numbers of rounds that
// the members have left out (gossip_grad.h), and all go on with the largest.
//
// A step cannot go on without every member of the group: who does not answer within
// spec.collective_seconds ends the job, by name. The closing and the periodic average are over all
// workers.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_GROUPED_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_GROUPED_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "core/schedule/schedule.h"
#include "worker/exchange/exchange.h"

namespace gg {

// Makes the inner method; with one group it gets a context of size 1.
using MakeInner = std::function<absl::StatusOr<std::unique_ptr<ExchangeStrategy>>(
    ExchangeContext, std::unique_ptr<PartnerSchedule> between_groups)>;

// context.size >= 2, group set, whose view has the label spec.topology.
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeGrouped(ExchangeContext context,
                                                              const MakeInner& make_inner);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_GROUPED_H_
