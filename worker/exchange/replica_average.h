// SPDX-License-Identifier: Apache-2.0
//
// Replaces a replica's weights, optimizer state and buffers by their exact average over all workers, each
// with its weight (ExchangeContext). Works on a copy: when the average fails, the replica keeps its
// own values. Where what a replica counts changes as it trains (`share`, of the weights alone),
// sum a_i x_i / sum a_i takes the place of the mean; all give a share then, or none.
//
// Thread-safety: thread-compatible, except Abort.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_REPLICA_AVERAGE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_REPLICA_AVERAGE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/sync.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/partner_watch.h"
#include "worker/exchange/ring_average.h"

namespace gg {

class ReplicaAverage {
 public:
  // Keeps pointers of `context`, which must outlive this.
  explicit ReplicaAverage(const ExchangeContext& context);

  // All workers average after the same steps, or the same rounds of a method whose workers keep pace
  // by rounds: `steps_done` is part of the collective's number. kClosing: nothing else is averaged
  // after it, and the number is above those of all rounds.
  enum class When { kTraining, kClosing };

  // On demand. Returns the distance of this replica's weights to the average. kDeadlineExceeded and
  // kUnavailable name the missing rank; kDataLoss: the average is not finite, because some replica
  // is not; or the status of Abort.
  absl::StatusOr<double> Run(uint64_t steps_done, absl::Time deadline,
                             std::optional<double> share = std::nullopt,
                             When when = When::kTraining);

  // Whether spec.average_every asks for one now.
  bool Due(uint64_t steps_done) const;
  // A periodic one, with the exchange's deadline. That it fails is an incident and no error; only
  // Abort is.
  absl::Status RunPeriodic(uint64_t steps_done, PartnerWatch& watch, ExchangeStats& stats,
                           std::optional<double> share = std::nullopt);

  // From any thread: ends the average under way and those to come.
  void Abort(absl::Status why);
  absl::Status aborted();

 private:
  struct Outcome {
    absl::Status status;
    double distance = 0;
    Rank missing = -1;  // whom a failure points at
    uint64_t messages_sent = 0, messages_received = 0;
    uint64_t bytes_sent = 0, bytes_received = 0;
  };
  Outcome Average(uint64_t steps_done, absl::Time deadline, std::optional<double> share, When when);
  absl::StatusOr<std::shared_ptr<RingState>> Load(std::optional<double> share);
  absl::Status Store(RingState& state, bool shared, double* distance);

  const ExchangeContext& context_;
  uint64_t first_ = ~uint64_t{0};  // number of the first average after the same step
  uint64_t number_ = 0;            // of the last
  Mutex mu_;
  absl::Status aborted_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<RingState> running_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_REPLICA_AVERAGE_H_
