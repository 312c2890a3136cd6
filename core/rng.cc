// SPDX-License-Identifier: Apache-2.0
#include "core/rng.h"

#include <cmath>

namespace gg {
namespace {

uint64_t Mix(uint64_t x) {
  // Finaliser of SplitMix64: spreads every input bit over the whole word.
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace

uint64_t StableHash(absl::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3u;
  }
  return Mix(hash);
}

Rng::Rng(uint64_t seed, absl::string_view stream, uint64_t index)
    : key_{static_cast<uint32_t>(Mix(seed)), static_cast<uint32_t>(Mix(seed) >> 32)},
      stream_id_(Mix(StableHash(stream) ^ Mix(index))) {}

void Rng::Refill() {
  const uint64_t block = position_ / 4;
  if (block == buffered_block_) return;
  buffer_ = Philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                    static_cast<uint32_t>(stream_id_), static_cast<uint32_t>(stream_id_ >> 32)},
                   key_);
  buffered_block_ = block;
}

uint32_t Rng::NextU32() {
  Refill();
  return buffer_[position_++ % 4];
}

uint64_t Rng::NextU64() {
  const uint64_t low = NextU32();
  return low | (uint64_t{NextU32()} << 32);
}

uint64_t Rng::Below(uint64_t n) {
  // Values under `reject` would make the low results more likely than the others.
  const uint64_t reject = (0 - n) % n;
  uint64_t x = NextU64();
  while (x < reject) x = NextU64();
  return x % n;
}

float Rng::Uniform() {
  return static_cast<float>(NextU32() >> 8) * 0x1.0p-24f;
}

float Rng::Normal() {
  if (has_normal_) {
    has_normal_ = false;
    return normal_;
  }
  const double u = (static_cast<double>(NextU32()) + 1.0) * 0x1.0p-32;  // in (0, 1]
  const double v = static_cast<double>(NextU32()) * 0x1.0p-32;
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * 3.14159265358979323846 * v;
  normal_ = static_cast<float>(radius * std::sin(angle));
  has_normal_ = true;
  return static_cast<float>(radius * std::cos(angle));
}

void Rng::SetPosition(uint64_t position) {
  position_ = position;
  has_normal_ = false;
}

}  // namespace gg
