// SPDX-License-Identifier: Apache-2.0
//
// Exact sums and means of runs of floats over all workers, each in a lane of its own, several lanes
// under way at once: what every synchronous method is made of. Start() takes a snapshot of what it
// is given; the caller computes on and asks for the result when it needs it.
//
// Values are divided by the number of workers, and multiplied with the weight of this one, before
// they are added, so that no intermediate sum is larger than a replica's values are. They travel in
// spec.encoding; all workers end with the same bits.
//
// Thread-safety: thread-compatible, except Abort.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_AVERAGER_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_AVERAGER_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/sync.h"
#include "worker/collective/run.h"
#include "worker/exchange/exchange.h"

namespace gg {

struct AverageLane {
  CollectiveOp op = CollectiveOp::kAllReduce;
  size_t floats = 0;
  bool exact = false;  // travels in fp32, whatever spec.encoding says
};

class Averager {
 public:
  // Keeps pointers of `context`, which must outlive this. kResourceExhausted: no memory.
  // kInvalidArgument: spec.collective cannot serve these lanes. Lanes of equal size have equal
  // strips.
  static absl::StatusOr<std::unique_ptr<Averager>> Create(const ExchangeContext& context,
                                                          const std::vector<AverageLane>& lanes);

  // Begins the lane's collective of `step` with what `parts` hold, one behind the other: the mean
  // of them (reduce-scatter: our strip of the mean; all-gather: everybody's strip of their parts,
  // undivided). The lane must be idle.
  absl::Status Start(int lane, uint64_t step, absl::Span<const ConstFlat> parts,
                     ExchangeStats& stats);
  bool busy(int lane) const { return lanes_[lane].run != nullptr; }
  // Whether Await would not wait. False for an idle lane.
  bool finished(int lane) const;
  // The result, valid until the lane's next Start. The lane is idle again. kDeadlineExceeded and
  // kUnavailable name the missing rank, and no later collective of this averager can succeed; or the
  // status of Abort.
  absl::StatusOr<Flat> Await(int lane, absl::Time deadline, ExchangeStats& stats);

  // This worker's part of a reduce-scatter or all-gather lane.
  Range OwnStrip(int lane) const;

  // From any thread: ends what is under way and what comes.
  void Abort(absl::Status why);

 private:
  struct Lane {
    std::shared_ptr<FloatLink> link;
    std::shared_ptr<const CollectiveProgram> program;
    uint64_t bytes_sent = 0;  // on the wire, by one collective
    uint64_t bytes_received = 0;
    std::optional<CollectiveMemory> memory;  // here while the lane is idle
    std::shared_ptr<CollectiveRun> run;
  };

  explicit Averager(const ExchangeContext& context) : context_(context) {}
  void Count(const Lane& lane, ExchangeStats& stats);

  const ExchangeContext& context_;
  std::vector<Lane> lanes_;
  Mutex mu_;
  absl::Status aborted_ ABSL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<CollectiveRun>> under_way_ ABSL_GUARDED_BY(mu_);  // by lane
};

// Numbers of collectives: those of step t from (t + 1) kCollectivesPerStep on, first the lanes, then
// what ReplicaAverage does after the step.
inline constexpr uint64_t kCollectivesPerStep = 1 << 16;
inline constexpr uint64_t kFirstReplicaAverage = kCollectivesPerStep - 256;

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_AVERAGER_H_
