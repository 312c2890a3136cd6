// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/wire/loops.h"

namespace gg::wire {
namespace {

constexpr int kBinShift = 20;  // of a magnitude's bits: its exponent and three bits of its fraction

// Ordered as the magnitudes are; NaN above all.
uint32_t Magnitude(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu;
}

struct Threshold {
  uint32_t magnitude;  // all larger ones are kept,
  size_t equal;        // and so many, the first ones, of this size
};

// One pass to count and one over the values of one bin: a tenth of what selecting among all costs.
Threshold Select(ConstFlat values, size_t kept) {
  std::array<size_t, size_t{1} << (31 - kBinShift)> bins{};
  for (const float value : values) ++bins[Magnitude(value) >> kBinShift];
  size_t bin = bins.size() - 1, above = 0;
  while (above + bins[bin] < kept) above += bins[bin--];
  std::vector<uint32_t> candidates;
  candidates.reserve(bins[bin]);
  for (const float value : values) {
    if (Magnitude(value) >> kBinShift == bin) candidates.push_back(Magnitude(value));
  }
  const auto nth = candidates.begin() + static_cast<ptrdiff_t>(kept - above - 1);
  std::nth_element(candidates.begin(), nth, candidates.end(), std::greater<>());
  const auto larger =
      std::count_if(candidates.begin(), candidates.end(), [t = *nth](uint32_t m) { return m > t; });
  return {*nth, kept - above - static_cast<size_t>(larger)};
}

}  // namespace

void EncodeTopk(ConstFlat values, size_t kept, uint8_t* wire) {
  if (kept == 0) return;
  Threshold least = Select(values, kept);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t magnitude = Magnitude(values[i]);
    if (magnitude < least.magnitude) continue;
    if (magnitude == least.magnitude) {
      if (least.equal == 0) continue;
      --least.equal;
    }
    Store(static_cast<uint32_t>(i), wire);
    Store(values[i], wire + sizeof(uint32_t));
    wire += sizeof(uint32_t) + sizeof(float);
  }
}

absl::Status DecodeTopk(const uint8_t* wire, size_t kept, Flat values) {
  std::fill(values.begin(), values.end(), 0.0f);
  uint64_t next = 0;  // places grow
  for (size_t k = 0; k < kept; ++k, wire += sizeof(uint32_t) + sizeof(float)) {
    const uint32_t place = Load<uint32_t>(wire);
    if (place >= values.size() || place < next) {
      return absl::DataLossError(
          absl::StrCat("topk message: place ", place, " of value ", k,
                       place < next ? " is not above the one before" : " lies behind the end",
                       ", of ", values.size()));
    }
    values[place] = Load<float>(wire + sizeof(uint32_t));
    next = uint64_t{place} + 1;
  }
  return absl::OkStatus();
}

}  // namespace gg::wire
