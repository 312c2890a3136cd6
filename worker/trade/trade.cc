// SPDX-License-Identifier: Apache-2.0
#include "worker/trade/trade.h"

#include <algorithm>

namespace gg {
namespace {

constexpr size_t kLabelBytes = 4;

void PutLabel(uint8_t* to, int32_t label) {
  const auto value = static_cast<uint32_t>(label);
  for (size_t i = 0; i < kLabelBytes; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

int32_t GetLabel(const uint8_t* from) {
  uint32_t value = 0;
  for (size_t i = 0; i < kLabelBytes; ++i) value |= uint32_t{from[i]} << (8 * i);
  return static_cast<int32_t>(value);
}

}  // namespace

size_t TradeMessageBytes(int64_t samples, const SampleShape& shape) {
  return static_cast<size_t>(samples) * (kLabelBytes + shape.bytes());
}

void PackSamples(const ShardStore& store, absl::Span<const int64_t> slots,
                 absl::Span<uint8_t> message) {
  uint8_t* label = message.data();
  uint8_t* pixels = label + slots.size() * kLabelBytes;
  for (const int64_t slot : slots) {
    PutLabel(label, store.label(slot));
    label += kLabelBytes;
    pixels = std::copy_n(store.pixels(slot).begin(), store.shape().bytes(), pixels);
  }
}

void UnpackSamples(absl::Span<const uint8_t> message, absl::Span<const int64_t> slots,
                   ShardStore& store) {
  const size_t sample_bytes = store.shape().bytes();
  const uint8_t* label = message.data();
  const uint8_t* pixels = label + slots.size() * kLabelBytes;
  for (const int64_t slot : slots) {
    store.Replace(slot, absl::MakeConstSpan(pixels, sample_bytes), GetLabel(label));
    label += kLabelBytes;
    pixels += sample_bytes;
  }
}

}  // namespace gg
