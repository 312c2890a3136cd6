// SPDX-License-Identifier: Apache-2.0
//
// The data set of the last job, kept for the next one when it asks for the same.
// Thread-safety: thread-compatible; owned by the job thread.
#ifndef GOSSIPGRAD_WORKER_DAEMON_DATASET_CACHE_H_
#define GOSSIPGRAD_WORKER_DAEMON_DATASET_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "core/spec/job_spec.h"
#include "worker/data/dataset.h"

namespace gg {

struct LoadedData {
  std::shared_ptr<const Dataset> train, test;
  uint64_t fingerprint = 0;
};

class DatasetCache {
 public:
  // Errors are those of LoadDataset; the cache is then empty.
  absl::StatusOr<LoadedData> Get(const DataSpec& spec, uint64_t seed);

 private:
  DataSpec spec_;
  uint64_t seed_ = 0;
  std::optional<LoadedData> data_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DAEMON_DATASET_CACHE_H_
