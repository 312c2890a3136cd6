// SPDX-License-Identifier: Apache-2.0
//
// When parameters or gradients are exchanged, and when each block is updated. A strategy is driven
// by the hooks of the training loop and owns the decision when the optimizer may touch a block. To
// add an algorithm: one file here, one line in registry.cc, one sheet in docs/algorithms, one line
// in the conformance suite.
//
// The loop promises this order for every step:
//   BeginStep(t), BlockNeeded(b) for every block (first layer first), GradientReady(b) for every
//   block (last layer first), EndStep(t); Settle() at any point between EndStep and the next
//   BeginStep, or before a step's first GradientReady; AverageReplicas() at the end.
// A lost or late partner degrades one exchange, never the job: every wait ends at its deadline and
// is counted with the partner's name.
//
// Thread-safety: thread-compatible; owned by the training thread. Callbacks of the transport only
// flag completion.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_EXCHANGE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "core/spec/job_spec.h"
#include "kernels/device.h"
#include "worker/nn/param_arena.h"
#include "worker/transport/transport.h"

namespace gg {

// What one step's exchange cost. Durations are wall time of the training thread.
struct ExchangeStats {
  uint64_t messages_sent = 0;
  uint64_t bytes_sent = 0;
  uint64_t exchanges_done = 0;     // units mixed
  uint64_t exchanges_skipped = 0;  // units that went on without their partner
  absl::Duration waited;           // stood still for a partner
  absl::Duration mixed;            // spent on snapshots and mixing
  // Norm of own minus partner's weights (gradients, where those are exchanged), or that of models as
  // far from their mean as one is from the centre (easgd); measured every few steps, else -1.
  double partner_distance = -1;

  ExchangeStats& operator+=(const ExchangeStats& other);
};

// A partner did not keep its deadline, or is gone.
struct PartnerIncident {
  uint64_t step;
  Rank partner;
  std::string worker_id;
  std::string reason;  // late | lost | corrupt | nonfinite | norm | stale | quarantine
  std::string detail;  // a sentence
};

struct ExchangeContext {
  ExchangeSpec spec;
  uint64_t seed = 0;
  Device* device = nullptr;
  Stream* stream = nullptr;
  ParamArena* arena = nullptr;
  // Gives view and rank; may be null when the view has one member. Must end its operations (be
  // destroyed) before the device is: buffers lent to it live until their Done.
  PeerGroup* group = nullptr;
  int size = 1;
  Rank rank = 0;
  Clock* clock = nullptr;
  MetricSink* metrics = nullptr;
  uint64_t steps_per_epoch = 1;
  // Of this replica in every mean over all workers, relative to the others'; they add up to `size`.
  double weight = 1;
  std::string transport;  // name of what `group` runs over, for the metrics
  // Applies the optimizer to one block with the rate of `step`, which may be the step before the
  // current one: with gradients exchanged layer by layer, the update waits for the partner until
  // the block is next needed.
  absl::AnyInvocable<absl::Status(BlockIndex, uint64_t step)> update;
  // The same for `count` floats from `offset` of the arenas on, wherever blocks begin.
  absl::AnyInvocable<absl::Status(size_t offset, size_t count, uint64_t step)> update_range;
  // Told once per incident; must not block.
  absl::AnyInvocable<void(const PartnerIncident&)> on_incident;
};

class ExchangeStrategy {
 public:
  virtual ~ExchangeStrategy() = default;
  virtual absl::string_view name() const = 0;

  virtual absl::Status BeginStep(uint64_t step) = 0;
  virtual absl::Status BlockNeeded(BlockIndex block) = 0;
  virtual absl::Status GradientReady(BlockIndex block) = 0;
  virtual absl::StatusOr<ExchangeStats> EndStep(uint64_t step) = 0;

  // Completes what the last step left open, so that arena().weights() is this replica's model.
  // Idempotent.
  virtual absl::StatusOr<ExchangeStats> Settle() = 0;

  // After the last Settle(): replaces weights, optimizer state and buffers by their exact average over all
  // workers. Returns the distance sqrt(sum (w_own - w_average)^2) of this replica. With one worker
  // nothing changes and the distance is 0. kDeadlineExceeded / kUnavailable name the rank that is
  // missing; the weights are then the replica's own. Methods whose workers end at different times
  // take the time until `deadline` for how long a worker may give no sign of life, and another such
  // time for the average itself.
  virtual absl::StatusOr<double> AverageReplicas(absl::Time deadline) = 0;

  // How many rounds of its schedule a method with partners has passed over so far, and: pass over no
  // fewer, from the next BeginStep on. For those that have to keep pace with each other.
  virtual uint64_t rounds_left_out() const { return 0; }
  virtual void LeaveOutRounds(uint64_t /*at_least*/) {}

  // Unblocks a waiting training thread with `why`. May be called from any thread; idempotent.
  virtual void Abort(absl::Status why) = 0;
};

// kInvalidArgument: unknown algorithm, payload, overlap or schedule, or a size the schedule cannot
// serve; all messages list what is possible.
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeExchange(ExchangeContext context);
std::vector<absl::string_view> ExchangeNames();

// What a user should know before a run of `size` workers starts with this spec; a sentence each,
// none when all is well.
std::vector<std::string> ExchangeWarnings(const ExchangeSpec& spec, int size);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_EXCHANGE_H_
