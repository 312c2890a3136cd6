// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "kernels/clones.h"
#include "worker/wire/loops.h"

namespace gg::wire {
namespace {

constexpr int kBias = 127;            // of a float's exponent
constexpr int kFraction = 23;         // bits of the fixed point that is rounded
constexpr uint8_t kNotFinite = 255;   // in place of an exponent
constexpr int kLeastExponent = -104;  // 2^(kFraction - e) must be a float,
constexpr int kMostExponent = 121;    // and so must 127 2^e

// The whole number stands for x / 2^e, so e is the least with max |x| <= 127 2^e.
inline int ExponentOf(uint32_t largest) {
  constexpr uint32_t k127 = 0x7E0000u;  // the fraction bits of 127 = 1.984375 2^6
  const int exponent = static_cast<int>(largest >> 23) - kBias - 6;
  return std::clamp(exponent + ((largest & 0x7FFFFFu) > k127 ? 1 : 0), kLeastExponent,
                    kMostExponent);
}

inline float PowerOfTwo(int exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + kBias) << 23);
}

// 23 bits for the value at `place`: a finalizer of integer hashing between the two keys, because a
// draw of the generator for each value would cost more than sending it.
inline int32_t Draw(uint32_t place, Dither dither) {
  uint32_t h = place * 0x9E3779B9u ^ dither.first;
  h ^= h >> 16;
  h *= 0x7FEB352Du;
  h += dither.second;
  h ^= h >> 15;
  h *= 0x846CA68Bu;
  h ^= h >> 16;
  return static_cast<int32_t>(h >> (32 - kFraction));
}

#define GG_INLINE inline __attribute__((always_inline))

GG_INLINE void EncodeBlock(const float* values, size_t count, uint32_t place, Dither dither,
                           uint8_t* exponent, uint8_t* numbers) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFFu);
  }
  if (largest >= 0x7F800000u) {
    *exponent = kNotFinite;
    std::memset(numbers, 0, count);
    return;
  }
  const int e = ExponentOf(largest);
  *exponent = static_cast<uint8_t>(e + kBias);
  const float scale = PowerOfTwo(kFraction - e);
  for (size_t i = 0; i < count; ++i) {
    // x + u rounded down, u uniform in [0, 1): the mean is x.
    const int32_t fixed = static_cast<int32_t>(values[i] * scale);
    const int32_t up = Draw(place + static_cast<uint32_t>(i), dither);
    // More than 127 only above kMostExponent.
    numbers[i] = static_cast<uint8_t>(std::clamp((fixed + up) >> kFraction, -127, 127));
  }
}

GG_INLINE void DecodeBlock(uint8_t exponent, const uint8_t* numbers, size_t count, float* values) {
  const float scale = std::bit_cast<float>(
      exponent == kNotFinite ? 0x7FC00000u : static_cast<uint32_t>(exponent) << 23);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int8_t>(numbers[i])) * scale;
  }
}

}  // namespace

GG_VECTOR_CLONES void EncodeInt8(const float* values, size_t count, Dither dither, uint8_t* wire) {
  const size_t blocks = (count + kInt8Block - 1) / kInt8Block, whole = count / kInt8Block;
  uint8_t* const numbers = wire + blocks;
  size_t at = 0;
  for (size_t b = 0; b < whole; ++b, at += kInt8Block) {
    EncodeBlock(values + at, kInt8Block, static_cast<uint32_t>(at), dither, wire + b, numbers + at);
  }
  if (at == count) return;
  EncodeBlock(values + at, count - at, static_cast<uint32_t>(at), dither, wire + whole,
              numbers + at);
}

GG_VECTOR_CLONES void DecodeInt8(const uint8_t* wire, size_t count, float* values) {
  const size_t blocks = (count + kInt8Block - 1) / kInt8Block, whole = count / kInt8Block;
  const uint8_t* const numbers = wire + blocks;
  size_t at = 0;
  for (size_t b = 0; b < whole; ++b, at += kInt8Block) {
    DecodeBlock(wire[b], numbers + at, kInt8Block, values + at);
  }
  if (at < count) DecodeBlock(wire[whole], numbers + at, count - at, values + at);
}

}  // namespace gg::wire
