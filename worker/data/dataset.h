// SPDX-License-Identifier: Apache-2.0
//
// Samples at rest and on their way to the training loop.
//   Dataset      read-only samples in their stored form (8-bit pixels), by index
//   ShardStore   the samples this worker owns at the moment; samples come and go on the ring
//   (worker/trade) BatchSource  normalised float batches in the order of the epoch, assembled ahead
//   of time
// One sample's stored form is `sample_bytes` raw bytes (C,H,W) and a 32-bit label.
// Thread-safety: as said at each class.
#ifndef GOSSIPGRAD_WORKER_DATA_DATASET_H_
#define GOSSIPGRAD_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/ids.h"
#include "core/spec/job_spec.h"

namespace gg {

struct SampleShape {
  int64_t channels = 0, height = 0, width = 0;
  size_t bytes() const { return static_cast<size_t>(channels * height * width); }
  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

// All samples of one split, in memory. Immutable once made: thread-safe.
struct Dataset {
  SampleShape shape;
  int64_t classes = 0;
  std::vector<uint8_t> pixels;  // size() * shape.bytes()
  std::vector<int32_t> labels;  // 0 .. classes-1
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  absl::Span<const uint8_t> sample(int64_t i) const {
    return absl::MakeConstSpan(pixels).subspan(static_cast<size_t>(i) * shape.bytes(),
                                               shape.bytes());
  }
};

enum class Split { kTrain, kTest };

// worker/data/formats/registry.cc: reads one split as `spec` says. The formats check magic, counts,
// lengths, label range and trailing bytes. kNotFound: file or folder missing (path, and what was
// looked for). kDataLoss: damaged content (path, offset, what was expected). kInvalidArgument:
// unknown format or nonsense in the spec.
absl::StatusOr<std::shared_ptr<const Dataset>> LoadDataset(const DataSpec& spec, Split split,
                                                           uint64_t seed);

// The contiguous range [first, first + count) of `total` samples that rank `rank` of `size` starts
// with; the remainder goes one each to the first ranks.
struct ShardRange {
  int64_t first, count;
};
ShardRange InitialShard(int64_t total, int size, Rank rank);

// The same where batches differ: shards in proportion to the batches (one per rank, each at least 1), so that every rank
// goes through its own in StepsPerEpoch(total, size, mean of the batches) steps. `total` is at least the number of ranks.
ShardRange ProportionalShard(int64_t total, absl::Span<const int64_t> batches, Rank rank);

// Steps of one epoch, equal on all ranks: ceil(largest shard / batch). Ranks with fewer samples
// repeat some.
int64_t StepsPerEpoch(int64_t total, int size, int64_t batch_size);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DATA_DATASET_H_
