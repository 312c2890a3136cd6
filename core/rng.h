// SPDX-License-Identifier: Apache-2.0
//
// Every random number of a job comes from (seed, stream name, counter): a counter-based generator, so that a
// stream can be opened anywhere, at any position, on any machine, with the same result and without shared state.
// Algorithm: Philox-4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// Thread-safety: thread-compatible; make one Rng per use.
#ifndef GOSSIPGRAD_CORE_RNG_H_
#define GOSSIPGRAD_CORE_RNG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg {

class Rng {
 public:
  // `stream` names what the numbers are for ("rotation", "init/conv1", "shuffle"); `index` numbers streams of one
  // name (a rank, an epoch). Different (seed, stream, index) give independent sequences.
  Rng(uint64_t seed, absl::string_view stream, uint64_t index = 0);

  uint32_t NextU32();
  uint64_t NextU64();
  // Uniform in 0 .. n-1 without modulo bias; n > 0.
  uint64_t Below(uint64_t n);
  // Uniform in [0, 1), 24 random bits.
  float Uniform();
  // Standard normal (Box-Muller).
  float Normal();

  // Fisher-Yates, last to first.
  template <typename T>
  void Shuffle(absl::Span<T> values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

  // The position in the stream, in 32-bit numbers drawn. SetPosition(position()) continues bit for bit; a normal
  // value held back by Normal() is dropped.
  uint64_t position() const { return position_; }
  void SetPosition(uint64_t position);

 private:
  void Refill();

  std::array<uint32_t, 2> key_;
  uint64_t stream_id_;
  uint64_t position_ = 0;
  std::array<uint32_t, 4> buffer_{};
  uint64_t buffered_block_ = ~uint64_t{0};
  bool has_normal_ = false;
  float normal_ = 0;
};

// A stable 64-bit hash of text (FNV-1a, then mixed); the same on every platform and version.
uint64_t StableHash(absl::string_view text);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_RNG_H_
