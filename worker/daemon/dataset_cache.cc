// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/dataset_cache.h"

#include "core/status.h"
#include "worker/daemon/fingerprint.h"

namespace gg {

absl::StatusOr<LoadedData> DatasetCache::Get(const DataSpec& spec, uint64_t seed) {
  // Whether samples travel says nothing about which samples there are.
  DataSpec wanted = spec;
  wanted.exchange.clear();
  if (data_.has_value() && spec_ == wanted && seed_ == seed) return *data_;
  data_.reset();  // the old one first: both together may not fit
  LoadedData loaded;
  GG_ASSIGN_OR_RETURN(loaded.train, LoadDataset(spec, Split::kTrain, seed));
  GG_ASSIGN_OR_RETURN(loaded.test, LoadDataset(spec, Split::kTest, seed));
  loaded.fingerprint = DataFingerprint(*loaded.train, *loaded.test);
  spec_ = wanted;
  seed_ = seed;
  data_ = loaded;
  return loaded;
}

}  // namespace gg
