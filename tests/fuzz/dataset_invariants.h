// SPDX-License-Identifier: Apache-2.0
//
// What holds of every data set that a parser lets through.
#ifndef GOSSIPGRAD_TESTS_FUZZ_DATASET_INVARIANTS_H_
#define GOSSIPGRAD_TESTS_FUZZ_DATASET_INVARIANTS_H_

#include <cstdlib>

#include "worker/data/dataset.h"

namespace gg {

// Aborts when one is violated. The content of `input_bytes` bytes cannot have unpacked to more than
// its bound.
inline void CheckInvariants(const Dataset& set, size_t input_bytes) {
  const bool sound = set.size() > 0 && set.shape.bytes() > 0 &&
                     set.pixels.size() == set.labels.size() * set.shape.bytes() &&
                     set.pixels.size() <= (input_bytes + 64) * 1100 + (64 << 10);
  if (!sound) std::abort();
  for (const int32_t label : set.labels) {
    if (label < 0 || label >= set.classes) std::abort();
  }
}

// A refusal that says nothing is as bad as a crash.
inline void CheckRefusal(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kDataLoss &&
      status.code() != absl::StatusCode::kResourceExhausted) {
    std::abort();
  }
  if (status.message().empty()) std::abort();
}

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_FUZZ_DATASET_INVARIANTS_H_
