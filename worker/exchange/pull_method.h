// SPDX-License-Identifier: Apache-2.0
//
// What ad-psgd and asynchronous easgd have in common: a worker asks another one to let a part x of
// its model and a part y of the other's pull at each other, by a share a, and trains on. Who is
// asked answers when its next step begins, with d = a (x - y), and adds d to y at once; the asker
// subtracts d from x when it comes. So x + y does not change, whatever the delays.
//
// At most one request per peer is open. One that is late is given up after spec.deadline_seconds,
// and its answer still taken, because the other side has added its d. An answer that is lost, or
// refused, takes d from the sum; that is counted.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_PULL_METHOD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_PULL_METHOD_H_

#include <string>

#include "worker/exchange/open_requests.h"
#include "worker/exchange/push_method.h"

namespace gg {

class PullMethod : public PushMethod {
 protected:
  PullMethod(ExchangeContext context, std::string name, size_t max_floats, int pool, double share,
             WireFormat format);

  // The part of our model that `to` is asked about.
  virtual Flat Asked(Rank to) = 0;
  // What those who ask pull at.
  virtual Flat Own() = 0;
  // What the norms of others' parts are held against: a part may be short by chance.
  virtual ConstFlat Reference() { return Own(); }
  // What makes of the squared distance between Own() and another's part that between two models,
  // which is what is reported (ExchangeStats::partner_distance).
  virtual double DistanceScale() { return 1; }
  // Whether a request is turned down, which changes nothing on either side.
  virtual bool TurnsDown(const Mailbox::Arrival& /*request*/) { return false; }

  absl::Status Ask(Rank to);
  bool Asking(Rank to) const { return requests_.open(to); }
  bool AnythingOpen() override;

 private:
  absl::Status OnArrival(const Mailbox::Arrival& arrival) override;
  void OnFailure(Mailbox::Failure& failure) override;
  absl::Status Answer(const Mailbox::Arrival& request);
  absl::Status TakeAnswer(const Mailbox::Arrival& answer);

  const float share_;
  OpenRequests requests_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_PULL_METHOD_H_
