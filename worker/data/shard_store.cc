// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>

#include "worker/data/batch_source.h"

namespace gg {

ShardStore::ShardStore(const Dataset& dataset, ShardRange range) : shape_(dataset.shape) {
  assert(range.first >= 0 && range.count >= 0 && range.first + range.count <= dataset.size());
  const auto pixels = absl::MakeConstSpan(dataset.pixels)
                          .subspan(static_cast<size_t>(range.first) * shape_.bytes(),
                                   static_cast<size_t>(range.count) * shape_.bytes());
  pixels_.assign(pixels.begin(), pixels.end());
  labels_.assign(dataset.labels.begin() + range.first,
                 dataset.labels.begin() + range.first + range.count);
}

absl::Span<const uint8_t> ShardStore::pixels(int64_t slot) const {
  assert(slot >= 0 && slot < size());
  return absl::MakeConstSpan(pixels_).subspan(static_cast<size_t>(slot) * shape_.bytes(),
                                              shape_.bytes());
}

void ShardStore::Replace(int64_t slot, absl::Span<const uint8_t> pixels, int32_t label) {
  assert(slot >= 0 && slot < size() && pixels.size() == shape_.bytes());
  std::copy(pixels.begin(), pixels.end(),
            pixels_.begin() + slot * static_cast<int64_t>(shape_.bytes()));
  labels_[static_cast<size_t>(slot)] = label;
}

}  // namespace gg
