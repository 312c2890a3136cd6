// SPDX-License-Identifier: Apache-2.0
//
// How a run of floats looks on the wire.
//
//   fp32  4 n bytes        as they are
//   bf16  2 n              rounded to nearest even
//   fp16  2 n              rounded to nearest even, subnormals too
//   int8  n + ceil(n/64)   blocks of 64: an exponent each, then a whole number of -127 .. 127 for each value,
//                          rounded up or down with the probability that makes the mean exact
//   topk  8 ceil(share n)  the values of largest magnitude, each with its place, in the order of places
//
// Finite values stay finite: bf16 and fp16 stop at their largest number. NaN and infinities arrive as NaN or
// infinities (int8: the whole block as NaN), so that the receiver's guard sees them.
// What has been decoded encodes to the same values again, whatever the dither, as long as each block of int8
// holds values of one earlier block: a power of two as the common factor makes that exact.
// The bytes are those of a little-endian machine. Derivations: docs/algorithms/encodings.md.
//
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_WORKER_WIRE_ENCODING_H_
#define GOSSIPGRAD_WORKER_WIRE_ENCODING_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/device.h"
#include "worker/transport/transport.h"

namespace gg {

enum class Encoding { kFp32, kBf16, kFp16, kInt8, kTopk };

struct WireFormat {
  Encoding encoding = Encoding::kFp32;
  double topk_share = 0.01;  // of the values, (0, 1]
  uint64_t seed = 0;         // of the stochastic rounding
};

// kInvalidArgument: no such encoding, or a share that is none.
absl::StatusOr<WireFormat> ParseWireFormat(absl::string_view encoding, double topk_share,
                                           uint64_t seed);
absl::string_view EncodingName(Encoding encoding);

// What the stochastic rounding of one message is drawn from: two keys of core/rng.h.
struct Dither {
  uint32_t first = 0;
  uint32_t second = 0;
};

// Values that share an exponent; a message that is cut elsewhere than at multiples of it does not
// survive being encoded again.
size_t BlockValues(Encoding encoding);

// Of a message of `values` floats.
size_t WireBytes(const WireFormat& format, size_t values);

// `wire` has WireBytes(values.size()) bytes.
void Encode(const WireFormat& format, ConstFlat values, Dither dither, Bytes wire);

// kInvalidArgument: `wire` has another size. kDataLoss: these bytes are no encoding; `values` is then
// not to be used.
absl::Status Decode(const WireFormat& format, ConstBytes wire, Flat values);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_WIRE_ENCODING_H_
