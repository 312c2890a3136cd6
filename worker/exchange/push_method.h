// SPDX-License-Identifier: Apache-2.0
//
// What the methods in which nobody waits have in common (gosgd, ad-psgd, asynchronous easgd): pushes
// through a mailbox that is looked at when a step begins, so that a step's gradient belongs to one
// model; and an end that workers reach at different times.
//
// The end: a worker that has done its steps goes on answering. When nothing of its own is open it
// tells each other worker so, with the number of bodies that it has sent to it; when all have, and
// what they have sent is here, nothing is under way any more. It waits for slower workers as long as
// they give signs of life: it asks now and then, and a worker that trains answers at its next step.
// So the time that AverageReplicas is given is how long a worker may be silent, and how long the
// average itself may take.
//
// Thread-safety: as ExchangeStrategy.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_PUSH_METHOD_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_PUSH_METHOD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/exchange/exchange.h"
#include "worker/exchange/mailbox.h"
#include "worker/exchange/partner_watch.h"
#include "worker/exchange/receipt_guard.h"
#include "worker/exchange/replica_average.h"

namespace gg {

class PushMethod : public ExchangeStrategy {
 public:
  absl::string_view name() const override { return name_; }
  absl::Status BeginStep(uint64_t step) override;
  absl::Status BlockNeeded(BlockIndex /*block*/) override { return absl::OkStatus(); }
  absl::Status GradientReady(BlockIndex block) override { return context_.update(block, step_); }
  absl::StatusOr<ExchangeStats> EndStep(uint64_t step) override;
  absl::StatusOr<ExchangeStats> Settle() override;
  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override;
  void Abort(absl::Status why) override;

 protected:
  // Kinds of notes of the methods begin here.
  static constexpr uint64_t kFirstKind = 16;

  // `max_floats`, `pool`: as Mailbox::Create.
  PushMethod(ExchangeContext context, std::string name, size_t max_floats, int pool,
             WireFormat format);

  // What came: a body, or a note alone, of a kind of the method. It may be damaged or senseless.
  virtual absl::Status OnArrival(const Mailbox::Arrival& arrival) = 0;
  // Asked after each arrival: whether OnArrival has kept it, to release it later.
  virtual bool Keeps() { return false; }
  // A push with a body has failed; it is counted. The body may be taken.
  virtual void OnFailure(Mailbox::Failure& failure) = 0;
  virtual absl::Status AfterStep() = 0;
  // Whether this worker still waits for an answer; gives up those that are too late.
  virtual bool AnythingOpen() { return false; }
  // What periodic averages are counted by: steps, or the rounds of a method that has some.
  virtual uint64_t Pace() const { return step_; }
  // How much the replica counts in an average; as ReplicaAverage.
  virtual std::optional<double> Share() const { return std::nullopt; }
  // The closing average, when nothing is under way any more.
  virtual absl::StatusOr<double> Close(absl::Time deadline);

  // A worker other than this one, equally probable, by seed, rank and step.
  Rank DrawPeer(class Rng& rng) const;
  // Whether the worker has done all steps, this worker's present one too.
  bool HasEnded(Rank rank) const {
    const std::optional<uint64_t>& done_at = peers_[rank].done_at;
    return done_at && step_ <= *done_at;
  }
  // Memory for a body; empty: the peer holds too many, and that is counted.
  absl::StatusOr<Flat> Outgoing(Rank to);
  // What the last Outgoing(to) gave becomes what `to` will decode.
  void Round(Rank to, size_t floats) { mailbox_->Round(to, floats); }
  // Fills `message`, which the last Outgoing(to) gave, with one half of our model, as `to` will decode
  // it; the other half stays. What rounding adds to the one is taken off the other, so that the two,
  // which count alike, are together what there was (docs/algorithms/encodings.md).
  absl::Status Halve(Rank to, Flat message);
  void Push(Rank to, uint64_t kind, uint64_t number, double weight, size_t floats);
  void Push(Rank to, const PushNote& note, size_t floats);
  void Tell(Rank to, uint64_t kind, uint64_t number);
  // True every few exchanges, when the distance to the partner is to be measured.
  bool DistanceDue() { return exchanges_++ % kDistanceEvery == 0; }
  void ReportDistance(double squared);  // of two whole models
  // Age of a message of the sender's `step`, in steps; 0 for one from ahead of us.
  uint64_t Age(uint64_t step) const { return step_ > step ? step_ - step : 0; }
  // Whether the body may be let near `own`, the part of the model that it is meant for, when it is
  // `age` steps old; counts why not. A body that is right is about `scale` times as long as `own`.
  bool Acceptable(const Mailbox::Arrival& arrival, ConstFlat own, uint64_t age, double scale = 1);
  void ReportMixed(const Mailbox::Arrival& arrival, absl::Time begun);
  // Hears what has come: OnArrival, OnFailure.
  absl::Status Attend();
  Mailbox& mailbox() { return *mailbox_; }
  bool aborted() { return !mailbox_->aborted().ok(); }

  ExchangeContext context_;
  PartnerWatch watch_;
  ReceiptGuard guard_;
  ReplicaAverage average_;
  uint64_t step_ = 0;
  ExchangeStats stats_;  // since the last EndStep or Settle

 private:
  // The distance costs one more pass over the message.
  static constexpr uint64_t kDistanceEvery = 10;
  struct Peer {
    uint64_t sent = 0;      // bodies, without those that failed
    uint64_t received = 0;  // bodies, or the news that one will not come
    bool told = false;      // that we are done
    // It said that it is done after this step, with `promised` bodies sent to us.
    std::optional<uint64_t> done_at;
    uint64_t promised = 0;
    absl::Time done_since, heard;
  };

  absl::Status Hear(const Mailbox::Arrival& arrival);
  void NoteFailures();
  // Until nothing is under way any more; `patience`: with a silent worker.
  absl::Status Quiesce(absl::Duration patience);
  void TellDone(Rank to);
  // OK: nothing more is to be expected of it. kUnavailable: not yet. kDeadlineExceeded: gone.
  absl::Status Ended(Rank peer, absl::Duration patience);

  const std::string name_;
  std::shared_ptr<Mailbox> mailbox_;
  uint64_t steps_done_ = 0;
  uint64_t exchanges_ = 0;
  struct Norm {
    double value = 0;  // of a few messages ago
    uint64_t uses = 0;
  };
  std::map<const float*, Norm> own_norms_;  // by where the part of the model begins
  std::vector<Peer> peers_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_PUSH_METHOD_H_
