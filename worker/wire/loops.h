// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of the encodings, for sizes that encoding.cc has checked. They are compiled for several
// vector widths (kernels/clones.h) and give the same bits in each: no product is added to anything.
//
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_WORKER_WIRE_LOOPS_H_
#define GOSSIPGRAD_WORKER_WIRE_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "worker/wire/encoding.h"

namespace gg::wire {

inline constexpr size_t kInt8Block = 64;

template <typename T>
inline T Load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
inline void Store(T value, uint8_t* at) {
  std::memcpy(at, &value, sizeof(T));
}

void EncodeBf16(const float* values, size_t count, uint8_t* wire);
void DecodeBf16(const uint8_t* wire, size_t count, float* values);
void EncodeFp16(const float* values, size_t count, uint8_t* wire);
void DecodeFp16(const uint8_t* wire, size_t count, float* values);
void EncodeInt8(const float* values, size_t count, Dither dither, uint8_t* wire);
void DecodeInt8(const uint8_t* wire, size_t count, float* values);

// `kept` of the values.
void EncodeTopk(ConstFlat values, size_t kept, uint8_t* wire);
absl::Status DecodeTopk(const uint8_t* wire, size_t kept, Flat values);

}  // namespace gg::wire

#endif  // GOSSIPGRAD_WORKER_WIRE_LOOPS_H_
