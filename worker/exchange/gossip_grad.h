// SPDX-License-Identifier: Apache-2.0
//
// GossipGraD: each step, one partner to send to and one to receive from (core/schedule). See
// docs/algorithms/gossip-grad.md for the rules and docs/adr/0010 .. 0014 for the choices.
//
// payload    overlap    shared at         partner's part mixed at      block updated at
// weights*   none       EndStep           EndStep                      GradientReady
//            layerwise  unit complete     next BlockNeeded or Settle   GradientReady
//            step       BeginStep         next BeginStep or Settle (d) GradientReady
// gradients  none       EndStep           EndStep                      EndStep, mixed
//            layerwise  unit complete     next BlockNeeded or Settle   there, mixed
//            step       unit complete     unit complete next step (d)  there, mixed
//
// weights*: weights or weights-momentum. unit complete: its last GradientReady. (d): as half the
// difference to what was sent in the same exchange, which keeps the whole of the local update.
// With an encoding (worker/wire) every mix has form (d), of what both sides have decoded: so that
// rounding moves no mean of the models. docs/algorithms/encodings.md.
//
// A worker whom the schedule gives nobody to send to or to receive from leaves that half of the step
// out; what is updated, and when, does not change.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_GOSSIP_GRAD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_GOSSIP_GRAD_H_

#include <memory>
#include <vector>

#include "core/schedule/schedule.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/partner_exchange.h"
#include "worker/exchange/replica_average.h"
#include "worker/exchange/rule.h"
#include "worker/exchange/units.h"

namespace gg {

class GossipGrad final : public ExchangeStrategy {
 public:
  // context.size >= 2, group set.
  static absl::StatusOr<std::unique_ptr<ExchangeStrategy>> Create(
      ExchangeContext context, ExchangeRule rule, std::unique_ptr<PartnerSchedule> schedule);

  absl::string_view name() const override { return "gossip-grad"; }
  absl::Status BeginStep(uint64_t step) override;
  absl::Status BlockNeeded(BlockIndex block) override;
  absl::Status GradientReady(BlockIndex block) override;
  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override;
  absl::StatusOr<ExchangeStats> Settle() override;
  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override;
  uint64_t rounds_left_out() const override { return link_->rounds().left_out(); }
  void LeaveOutRounds(uint64_t at_least) override { link_->rounds().LeaveOut(at_least); }
  void Abort(absl::Status why) override;

 private:
  GossipGrad(ExchangeContext context, ExchangeRule rule, bool by_difference,
             std::unique_ptr<PartnerSchedule> schedule);

  int unit_count() const { return static_cast<int>(plan_.units.size()); }
  bool is(Overlap overlap) const { return rule_.overlap == overlap; }
  bool gradients() const { return rule_.payload->before_update; }
  // Arena part `part` of a unit, and the same part of its message.
  Flat Live(int unit, size_t part) const;
  Flat Slice(Flat message, int unit, size_t part) const;

  // Snapshots the unit and sends it to this step's partner.
  absl::Status Share(int unit);
  // Waits for the partner's part of `exchange`, mixes it or goes on without it. An error is local
  // or an abort.
  absl::Status Collect(int unit, const UnitExchange& exchange);
  absl::Status Mix(int unit, const UnitExchange& exchange, Flat received);
  // Collects what the unit has open; with gradients, the deferred updates follow.
  absl::Status Close(int unit);
  // All units, so that the weights are this replica's model.
  absl::Status CloseModel();
  absl::Status UpdateBlocks(int unit, uint64_t step);
  absl::Status ShareDelayedGradient(int unit);

  ExchangeContext context_;
  const ExchangeRule rule_;
  const bool by_difference_;  // mixed as half the difference to what was sent
  const std::unique_ptr<PartnerSchedule> schedule_;
  const std::vector<Flat> parts_;  // of the arena, that travel
  const UnitPlan plan_;
  std::unique_ptr<PartnerExchange> link_;
  ReplicaAverage average_;

  uint64_t step_ = 0;
  uint64_t steps_done_ = 0;
  Partners partners_;
  std::vector<int> ready_;  // blocks of each unit whose gradient is ready in this step
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_GOSSIP_GRAD_H_
