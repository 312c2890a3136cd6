// SPDX-License-Identifier: Apache-2.0
//
// From owned samples to training batches. The order of reads and of sample trades is fixed, so that
// a run is a function of its seed: the batch of step t is assembled after the trades committed by
// StartNext(t) and by no later one.
//   Next(t)           gives batch t (waits for the background thread) and thereby guarantees that
//   it reads nothing [trades commit]   the training thread may now replace samples of the store
//   StartNext(t + 1)  the background thread assembles batch t + 1 while the network computes on
//   batch t
// Thread-safety: thread-compatible, used by the training thread; the background thread is private.
#ifndef GOSSIPGRAD_WORKER_DATA_BATCH_SOURCE_H_
#define GOSSIPGRAD_WORKER_DATA_BATCH_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/spec/job_spec.h"
#include "worker/data/dataset.h"

namespace gg {

// The samples one worker owns, in numbered slots. A slot always holds a whole sample.
// Thread-compatible: the order of use above keeps reader and writer apart.
class ShardStore {
 public:
  // Copies the range out of `dataset`.
  ShardStore(const Dataset& dataset, ShardRange range);
  const SampleShape& shape() const { return shape_; }
  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  absl::Span<const uint8_t> pixels(int64_t slot) const;
  int32_t label(int64_t slot) const { return labels_[static_cast<size_t>(slot)]; }
  void Replace(int64_t slot, absl::Span<const uint8_t> pixels, int32_t label);

 private:
  SampleShape shape_;
  std::vector<uint8_t> pixels_;
  std::vector<int32_t> labels_;
};

struct Batch {
  absl::Span<const float> x;         // (N,C,H,W), (pixel/255 - mean) / stddev
  absl::Span<const int32_t> labels;  // N
  absl::Span<const int64_t>
      slots;  // where they lie in the store; distinct unless the shard is smaller than N
};

struct BatchSourceOptions {
  int64_t batch_size = 1;
  int64_t steps_per_epoch = 1;
  double mean = 0, stddev = 1;
  uint64_t seed = 0;
  Rank rank = 0;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Begins to assemble the batch of `step`. Exactly one Next(step) follows each StartNext(step).
  virtual void StartNext(uint64_t step) = 0;
  // The batch stays valid until the second StartNext() after this call. Any step may be asked for
  // in any order (resume). kDeadlineExceeded when the background thread does not deliver.
  virtual absl::StatusOr<Batch> Next(uint64_t step, absl::Time deadline) = 0;
  // Batches that lie ready, so that Next() would not wait: 0 or 1, for the metric.
  virtual int QueueDepth() = 0;
};

// Within an epoch every slot is used once in the order of a permutation drawn from (seed, rank,
// epoch); the last batch is filled up from the permutation's start, and so are all that follow
// where steps_per_epoch is more than this shard needs. `store` must outlive the source.
// kInvalidArgument: an empty store, too few steps per epoch to use every slot, a size below 1 or a
// deviation that is not above 0. Next() out of its protocol is kFailedPrecondition.
absl::StatusOr<std::unique_ptr<BatchSource>> MakeBatchSource(const ShardStore& store,
                                                             const BatchSourceOptions& options);

// Pixels to floats, as Batch::x.
void NormalizePixels(absl::Span<const uint8_t> pixels, double mean, double stddev,
                     absl::Span<float> out);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DATA_BATCH_SOURCE_H_
