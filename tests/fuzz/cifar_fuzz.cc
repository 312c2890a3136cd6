// SPDX-License-Identifier: Apache-2.0
//
// The first byte chooses CIFAR-10 or CIFAR-100, the rest is the file.
#include "tests/fuzz/dataset_invariants.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/data/formats/formats.h"

namespace gg {

int FuzzOne(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const auto file = ByteStream::OverMemory("batch", absl::MakeConstSpan(data, size).subspan(1));
  if (!file.ok()) {
    CheckRefusal(file.status());
    return 0;
  }
  Dataset set;
  const auto records = ParseCifar(**file, data[0] % 2 == 0 ? kCifar10 : kCifar100, 0, set);
  if (records.ok()) {
    if (*records != set.size()) std::abort();
    CheckInvariants(set, size);
  } else {
    CheckRefusal(records.status());
  }
  return 0;
}

}  // namespace gg
