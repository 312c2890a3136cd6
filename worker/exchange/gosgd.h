// SPDX-License-Identifier: Apache-2.0
//
// GoSGD: after a step, with a small probability, a worker pushes a copy of its model and half of its
// weight to another one, drawn at random; docs/algorithms/gosgd.md. Every message is the whole model
// and carries its own weight. Nobody waits. Momentum stays local.
//
//   a push (x_s, a_s) that has come:  x <- (a x + a_s x_s) / (a + a_s),  a <- a + a_s
//   one that is refused (too old, not finite):                           a <- a + a_s
//   one of ours that failed:                                             a <- a + a_s
//
// With an encoding Q(x) is pushed and 2 x - Q(x) stays.
//
// so that the weights of all workers and messages keep the sum 1, except for what is lost without
// the sender being told; the closing average divides by the sum that is there.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_GOSGD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_GOSGD_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/push_method.h"

namespace gg {

class GoSgd final : public PushMethod {
 public:
  // context.size >= 2, group set. kInvalidArgument: a payload other than weights, or a probability
  // outside (0, 1].
  static absl::StatusOr<std::unique_ptr<ExchangeStrategy>> Create(ExchangeContext context);

  // This worker's share of the sum of weights.
  double weight() const { return weight_; }

 private:
  GoSgd(ExchangeContext context, size_t floats, WireFormat format);
  absl::Status AfterStep() override;
  absl::Status OnArrival(const Mailbox::Arrival& arrival) override;
  void OnFailure(Mailbox::Failure& failure) override { weight_ += failure.note.weight; }
  std::optional<double> Share() const override { return weight_; }

  double weight_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_GOSGD_H_
