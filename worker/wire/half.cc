// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "kernels/clones.h"
#include "worker/wire/loops.h"

namespace gg::wire {
namespace {

constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kInfinity = 0x7F800000u;

inline uint16_t Bf16Of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & ~kSign;
  uint32_t rounded = (magnitude + 0x7FFFu + ((magnitude >> 16) & 1u)) >> 16;
  rounded = magnitude >= 0x7F7F8000u ? 0x7F7Fu : rounded;  // would round to infinity
  rounded = magnitude == kInfinity ? 0x7F80u : rounded;
  rounded = magnitude > kInfinity ? 0x7FC0u : rounded;
  return static_cast<uint16_t>(rounded | ((bits & kSign) >> 16));
}

inline uint16_t Fp16Of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & ~kSign;
  // Exponents are biased by 15 instead of 127.
  const uint32_t normal =
      (magnitude - ((127u - 15u) << 23) + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
  // A float of [1/2, 1) counts in the unit of fp16's subnormals, 2^-24: the addition rounds.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
                             std::bit_cast<uint32_t>(0.5f);
  uint32_t rounded = magnitude < ((127u - 14u) << 23) ? subnormal : normal;
  rounded = magnitude >= 0x477FF000u ? 0x7BFFu : rounded;  // would round to infinity
  rounded = magnitude == kInfinity ? 0x7C00u : rounded;
  rounded = magnitude > kInfinity ? 0x7E00u : rounded;
  return static_cast<uint16_t>(rounded | ((bits & kSign) >> 16));
}

inline float FloatOfFp16(uint16_t half) {
  const uint32_t magnitude = (half & 0x7FFFu) << 13;
  const uint32_t normal = magnitude + ((127u - 15u) << 23);
  const uint32_t special = magnitude + ((255u - 31u) << 23);
  // 2^-14 (1 + m) - 2^-14: exact.
  constexpr uint32_t kLeastNormal = (127u - 14u) << 23;
  const float subnormal =
      std::bit_cast<float>(magnitude + kLeastNormal) - std::bit_cast<float>(kLeastNormal);
  uint32_t bits = magnitude < (1u << 23) ? std::bit_cast<uint32_t>(subnormal) : normal;
  bits = magnitude >= (31u << 23) ? special : bits;
  return std::bit_cast<float>(bits | ((half & 0x8000u) << 16));
}

}  // namespace

GG_VECTOR_CLONES void EncodeBf16(const float* values, size_t count, uint8_t* wire) {
  for (size_t i = 0; i < count; ++i) Store<uint16_t>(Bf16Of(values[i]), wire + 2 * i);
}

GG_VECTOR_CLONES void DecodeBf16(const uint8_t* wire, size_t count, float* values) {
  for (size_t i = 0; i < count; ++i) {
    values[i] = std::bit_cast<float>(static_cast<uint32_t>(Load<uint16_t>(wire + 2 * i)) << 16);
  }
}

GG_VECTOR_CLONES void EncodeFp16(const float* values, size_t count, uint8_t* wire) {
  for (size_t i = 0; i < count; ++i) Store<uint16_t>(Fp16Of(values[i]), wire + 2 * i);
}

GG_VECTOR_CLONES void DecodeFp16(const uint8_t* wire, size_t count, float* values) {
  for (size_t i = 0; i < count; ++i) values[i] = FloatOfFp16(Load<uint16_t>(wire + 2 * i));
}

}  // namespace gg::wire
