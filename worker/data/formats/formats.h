// SPDX-License-Identifier: Apache-2.0
//
// The data formats, one function each; registry.cc maps DataSpec::format to them. Errors as
// LoadDataset(). Each also has a part that parses a ByteStream, so that tests and fuzzing need no
// files. Thread-safety: pure functions of their arguments and the file system.
#ifndef GOSSIPGRAD_WORKER_DATA_FORMATS_FORMATS_H_
#define GOSSIPGRAD_WORKER_DATA_FORMATS_FORMATS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/spec/job_spec.h"
#include "worker/data/dataset.h"
#include "worker/data/formats/byte_stream.h"

namespace gg {

// No split larger than this is loaded: all samples of a split are held in memory.
inline constexpr uint64_t kMostSplitBytes = uint64_t{64} << 30;

// LeCun's IDX, as MNIST and Fashion-MNIST are published: an image file and a label file per split.
absl::StatusOr<Dataset> LoadIdx(const DataSpec& spec, Split split, uint64_t seed);
// Labels must lie in 0 .. classes-1. The first `limit` samples (0: all) are kept, all are checked.
absl::StatusOr<Dataset> ParseIdx(ByteStream& images, ByteStream& labels, int64_t classes,
                                 int64_t limit);

// The binary versions of CIFAR-10 and CIFAR-100 (fine labels): records of label bytes and 3x32x32
// pixels.
absl::StatusOr<Dataset> LoadCifar10(const DataSpec& spec, Split split, uint64_t seed);
absl::StatusOr<Dataset> LoadCifar100(const DataSpec& spec, Split split, uint64_t seed);

struct CifarLayout {
  int label_bytes;  // the last one counts
  int64_t classes;
};
inline constexpr CifarLayout kCifar10{.label_bytes = 1, .classes = 10};
inline constexpr CifarLayout kCifar100{.label_bytes = 2, .classes = 100};
// Appends to `into` until it holds `limit` samples (0: all); the rest is checked and dropped.
// Returns the number of records in the file.
absl::StatusOr<int64_t> ParseCifar(ByteStream& file, const CifarLayout& layout, int64_t limit,
                                   Dataset& into);

// Images drawn from `seed`: a smooth pattern per class, the same in both splits, and noise per
// sample.
absl::StatusOr<Dataset> MakeSynthetic(const DataSpec& spec, Split split, uint64_t seed);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DATA_FORMATS_FORMATS_H_
