// SPDX-License-Identifier: Apache-2.0
//
// Samples as one message: for n samples, n labels as little-endian 32-bit numbers, then n times the
// pixels. Thread-safety: pure functions of what they are given.
#ifndef GOSSIPGRAD_WORKER_TRADE_TRADE_H_
#define GOSSIPGRAD_WORKER_TRADE_TRADE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "worker/data/batch_source.h"

namespace gg {

size_t TradeMessageBytes(int64_t samples, const SampleShape& shape);
// Copies the samples of `slots` out of the store. `message` has TradeMessageBytes bytes.
void PackSamples(const ShardStore& store, absl::Span<const int64_t> slots,
                 absl::Span<uint8_t> message);
// Puts the samples of `message` into `slots`, in their order.
void UnpackSamples(absl::Span<const uint8_t> message, absl::Span<const int64_t> slots,
                   ShardStore& store);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRADE_TRADE_H_
