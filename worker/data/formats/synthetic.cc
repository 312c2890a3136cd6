// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers throughout: the same pixels on every machine and with every compiler.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/status.h"
#include "worker/data/formats/formats.h"

namespace gg {
namespace {

constexpr int64_t kGrid = 5;        // knots of a pattern per axis: smooth enough for small kernels
constexpr int64_t kAmplitude = 64;  // of the knots around mid-grey
constexpr int64_t kNoiseShift = 2;  // noise of about 37 grey levels: no class is trivial
constexpr int64_t kFraction = 256;  // interpolation in 1/256

absl::Status Check(const DataSpec& spec) {
  if (spec.shape.size() != 3 || std::any_of(spec.shape.begin(), spec.shape.end(), [](int64_t side) {
        return side < 1 || side > (1 << 16);
      })) {
    return absl::InvalidArgumentError(
        "data.shape must be three numbers of 1 .. 65536: channels, height, width");
  }
  if (spec.classes < 1 || spec.classes > (1 << 20)) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.classes must be 1 .. 1048576; it is ", spec.classes));
  }
  if (spec.train_samples < 1 || spec.test_samples < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.train_samples and data.test_samples must be at least 1; they are ",
                     spec.train_samples, " and ", spec.test_samples));
  }
  // Sides are bounded: their product fits.
  const auto sample = static_cast<uint64_t>(spec.shape[0] * spec.shape[1] * spec.shape[2]);
  const auto most =
      static_cast<uint64_t>(std::max({spec.train_samples, spec.test_samples, spec.classes}));
  if (most > kMostSplitBytes / sample) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.shape times the number of samples (or classes) is more than the ", kMostSplitBytes,
        " bytes that are held in memory; make data.shape or the numbers smaller"));
  }
  return absl::OkStatus();
}

// Where a pixel lies among the knots.
struct Position {
  int64_t knot, fraction;
};
Position Among(int64_t pixel, int64_t pixels) {
  const int64_t at = pixels > 1 ? pixel * (kGrid - 1) * kFraction / (pixels - 1) : 0;
  const int64_t knot = std::min(at / kFraction, kGrid - 2);
  return {.knot = knot, .fraction = at - knot * kFraction};
}

// Random knots, interpolated bilinearly.
std::vector<int8_t> Pattern(const SampleShape& shape, uint64_t seed, int64_t label) {
  Rng rng(seed, "synthetic/pattern", static_cast<uint64_t>(label));
  std::vector<int8_t> pattern;
  pattern.reserve(shape.bytes());
  for (int64_t c = 0; c < shape.channels; ++c) {
    int64_t knots[kGrid][kGrid];
    for (auto& row : knots) {
      for (int64_t& knot : row) {
        knot = static_cast<int64_t>(rng.Below(2 * kAmplitude + 1)) - kAmplitude;
      }
    }
    for (int64_t y = 0; y < shape.height; ++y) {
      const Position v = Among(y, shape.height);
      for (int64_t x = 0; x < shape.width; ++x) {
        const Position h = Among(x, shape.width);
        const auto across = [&](const int64_t* row) {
          return row[h.knot] * (kFraction - h.fraction) + row[h.knot + 1] * h.fraction;
        };
        const int64_t value = across(knots[v.knot]) * (kFraction - v.fraction) +
                              across(knots[v.knot + 1]) * v.fraction;
        pattern.push_back(static_cast<int8_t>(value / (kFraction * kFraction)));
      }
    }
  }
  return pattern;
}

// The sum of a word's four bytes is close to normally distributed, and its mean is 510.
int64_t Noise(Rng& rng) {
  const uint32_t word = rng.NextU32();
  const int64_t sum = (word & 0xff) + (word >> 8 & 0xff) + (word >> 16 & 0xff) + (word >> 24);
  return (sum - 510) >> kNoiseShift;
}

}  // namespace

absl::StatusOr<Dataset> MakeSynthetic(const DataSpec& spec, Split split, uint64_t seed) {
  GG_RETURN_IF_ERROR(Check(spec));
  const bool train = split == Split::kTrain;
  const int64_t limit = train ? spec.limit_train : spec.limit_test;
  int64_t count = train ? spec.train_samples : spec.test_samples;
  if (limit > 0) count = std::min(count, limit);

  Dataset set;
  set.shape = {.channels = spec.shape[0], .height = spec.shape[1], .width = spec.shape[2]};
  set.classes = spec.classes;
  set.labels.reserve(static_cast<size_t>(count));
  set.pixels.reserve(static_cast<size_t>(count) * set.shape.bytes());

  std::vector<std::vector<int8_t>> patterns(static_cast<size_t>(spec.classes));
  for (int64_t i = 0; i < count; ++i) {
    // One stream per sample: a limit does not change the samples before it.
    Rng rng(seed, train ? "synthetic/train" : "synthetic/test", static_cast<uint64_t>(i));
    const auto label = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(spec.classes)));
    std::vector<int8_t>& pattern = patterns[static_cast<size_t>(label)];
    if (pattern.empty()) pattern = Pattern(set.shape, seed, label);
    set.labels.push_back(static_cast<int32_t>(label));
    for (const int8_t value : pattern) {
      set.pixels.push_back(
          static_cast<uint8_t>(std::clamp<int64_t>(128 + value + Noise(rng), 0, 255)));
    }
  }
  return set;
}

}  // namespace gg
