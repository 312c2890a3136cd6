// SPDX-License-Identifier: Apache-2.0
#include "worker/wire/encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/rng.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kSizes[] = {0, 1, 2, 7, 15, 63, 64, 65, 128, 1000, 4099};

std::vector<float> Values(size_t count, uint64_t seed, double spread = 8) {
  Rng rng(seed, "values");
  std::vector<float> values(count);
  for (float& v : values) {
    v = rng.Normal() * std::exp2(static_cast<float>(spread) * (rng.Uniform() - 0.5f));
  }
  return values;
}

std::vector<uint8_t> Encoded(const WireFormat& format, ConstFlat values, Dither dither = {1, 2}) {
  std::vector<uint8_t> wire(WireBytes(format, values.size()));
  Encode(format, values, dither, absl::MakeSpan(wire));
  return wire;
}

std::vector<float> RoundTrip(const WireFormat& format, ConstFlat values, Dither dither = {1, 2}) {
  std::vector<float> out(values.size(), -7.0f);
  const absl::Status status = Decode(format, Encoded(format, values, dither), absl::MakeSpan(out));
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

class EveryEncoding : public testing::TestWithParam<const char*> {
 protected:
  WireFormat format_ = *ParseWireFormat(GetParam(), 0.1, 1);
};

TEST_P(EveryEncoding, NameAndSizes) {
  EXPECT_EQ(EncodingName(format_.encoding), GetParam());
  EXPECT_EQ(WireBytes(format_, 0), 0u);
  for (const size_t n : kSizes) {
    EXPECT_LE(WireBytes(format_, n), std::max<size_t>(4 * n, 8)) << n;
    if (n > 0) {
      EXPECT_GT(WireBytes(format_, n), 0u);
    }
  }
}

TEST_P(EveryEncoding, WhatWasDecodedEncodesToItself) {
  for (const size_t n : kSizes) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const std::vector<float> once = RoundTrip(format_, Values(n, seed, 60), {3, 4});
      EXPECT_EQ(RoundTrip(format_, once, {5, static_cast<uint32_t>(seed)}), once);
    }
  }
}

TEST_P(EveryEncoding, ZerosAndPaddingStayZero) {
  std::vector<float> values = Values(300, 1);
  std::fill(values.begin() + 100, values.begin() + 120, 0.0f);
  const std::vector<float> out = RoundTrip(format_, values);
  for (size_t i = 100; i < 120; ++i) EXPECT_EQ(out[i], 0.0f);
}

TEST_P(EveryEncoding, FiniteStaysFinite) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> values = {most, -most, 65519.0f, 65520.0f, -1e30f, 1e-45f, 3e38f};
  for (const float v : RoundTrip(format_, values)) EXPECT_TRUE(std::isfinite(v));
}

TEST_P(EveryEncoding, WhatIsNotFiniteIsSeenByTheReceiver) {
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    for (const size_t at : {0u, 63u, 64u, 299u}) {
      std::vector<float> values = Values(300, 1);
      values[at] = bad;
      EXPECT_FALSE(std::isfinite(RoundTrip(format_, values)[at])) << bad;
    }
  }
}

TEST_P(EveryEncoding, AnotherSizeIsRefused) {
  std::vector<float> out(10);
  std::vector<uint8_t> wire = Encoded(format_, out);
  wire.push_back(0);
  EXPECT_EQ(Decode(format_, wire, absl::MakeSpan(out)).code(), absl::StatusCode::kInvalidArgument);
  wire.pop_back();
  wire.pop_back();
  EXPECT_EQ(Decode(format_, wire, absl::MakeSpan(out)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(EveryEncoding, AnyBytesAreDecodedOrRefused) {
  Rng rng(7, "bytes");
  for (int round = 0; round < 3000; ++round) {
    std::vector<float> out(rng.Below(200));
    // Exactly as long as they have to be, so that a reader of one byte more is found out.
    std::vector<uint8_t> wire(WireBytes(format_, out.size()));
    for (uint8_t& byte : wire) byte = static_cast<uint8_t>(rng.NextU32());
    wire.shrink_to_fit();
    const absl::Status status = Decode(format_, wire, absl::MakeSpan(out));
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kDataLoss) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryEncoding,
                         testing::Values("fp32", "bf16", "fp16", "int8", "topk"),
                         [](const auto& encoding) { return std::string(encoding.param); });

TEST(WireFormatTest, WhatIsUnknownIsRefused) {
  EXPECT_EQ(ParseWireFormat("fp8", 0.1, 1).status().code(), absl::StatusCode::kInvalidArgument);
  for (const double share : {0.0, -1.0, 1.5, std::nan("")}) {
    EXPECT_EQ(ParseWireFormat("topk", share, 1).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// The neighbours of x on the grid of `encoding`, found by search over all its values.
std::vector<float> AllValues(const WireFormat& format) {
  std::vector<float> all;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint8_t wire[] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8)};
    float value;
    EXPECT_TRUE(Decode(format, wire, {&value, 1}).ok());
    if (std::isfinite(value)) all.push_back(value);
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(HalfTest, EveryValueSurvivesAndMiddlesGoToTheEvenOne) {
  for (const char* name : {"bf16", "fp16"}) {
    const WireFormat format = *ParseWireFormat(name, 1, 1);
    const std::vector<float> all = AllValues(format);
    EXPECT_EQ(RoundTrip(format, all), all) << name;
    for (size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i] == all[i + 1]) continue;  // -0 and 0
      const double exact = (double{all[i]} + double{all[i + 1]}) / 2;
      const float middle = static_cast<float>(exact);
      if (middle != exact) continue;  // below the least float
      const float below = std::nextafter(middle, -kInf), above = std::nextafter(middle, kInf);
      if (below > all[i]) {
        EXPECT_EQ(RoundTrip(format, {&below, 1})[0], all[i]);
        EXPECT_EQ(RoundTrip(format, {&above, 1})[0], all[i + 1]);
      }
      const std::vector<uint8_t> low = Encoded(format, {&all[i], 1});
      const float even = low[0] % 2 == 0 ? all[i] : all[i + 1];
      ASSERT_EQ(RoundTrip(format, {&middle, 1})[0], even) << name << " " << middle;
    }
  }
}

TEST(Int8Test, TheErrorIsBelowOneStepOfTheBlock) {
  const WireFormat format = *ParseWireFormat("int8", 1, 1);
  const std::vector<float> values = Values(6400, 3, 20);
  const std::vector<float> out = RoundTrip(format, values);
  for (size_t block = 0; block < values.size(); block += 64) {
    float largest = 0;
    for (size_t i = block; i < block + 64; ++i) largest = std::max(largest, std::abs(values[i]));
    // max <= 127 2^e and, as e is the least, max > 127 2^(e - 1).
    const float step = 2 * largest / 127;
    for (size_t i = block; i < block + 64; ++i) EXPECT_LT(std::abs(out[i] - values[i]), step);
  }
}

TEST(Int8Test, RoundingIsUnbiasedAndIndependent) {
  const WireFormat format = *ParseWireFormat("int8", 1, 1);
  // Largest 127, so that the step is 1; fractions of all sizes, also such as one draw in thousands
  // rounds up.
  std::vector<float> values(64);
  for (size_t i = 0; i < 63; ++i) values[i] = static_cast<float>(i) - 31 + 0.0003f + 0.0158f * i;
  values[63] = 127;
  constexpr int kDraws = 40000;
  std::vector<double> sum(64), product(64);
  std::vector<float> before(64);
  Rng keys(11, "keys");
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<float> out = RoundTrip(format, values, {keys.NextU32(), keys.NextU32()});
    for (size_t i = 0; i < 64; ++i) {
      sum[i] += out[i] - values[i];
      product[i] += double{out[i] - values[i]} * double{out[(i + 1) % 64] - values[(i + 1) % 64]};
    }
  }
  for (size_t i = 0; i < 64; ++i) {
    // A two-point error on a grid of 1 has at most the variance 1/4: five standard deviations.
    EXPECT_LT(std::abs(sum[i]) / kDraws, 5 * 0.5 / std::sqrt(kDraws)) << values[i];
    EXPECT_LT(std::abs(product[i]) / kDraws, 5 * 0.25 / std::sqrt(kDraws)) << values[i];
  }
}

TEST(Int8Test, TheSameDitherGivesTheSameBytesAndAnotherOthers) {
  const WireFormat format = *ParseWireFormat("int8", 1, 1);
  const std::vector<float> values = Values(1000, 5);
  EXPECT_EQ(Encoded(format, values, {1, 2}), Encoded(format, values, {1, 2}));
  EXPECT_NE(Encoded(format, values, {1, 2}), Encoded(format, values, {1, 3}));
  EXPECT_NE(Encoded(format, values, {1, 2}), Encoded(format, values, {2, 2}));
}

TEST(TopkTest, TheLargestTravelAndNothingElse) {
  for (const double share : {0.001, 0.01, 0.3, 1.0}) {
    const WireFormat format = *ParseWireFormat("topk", share, 1);
    for (const size_t n : {1u, 10u, 1000u, 4099u}) {
      const std::vector<float> values = Values(n, n);
      const std::vector<float> out = RoundTrip(format, values);
      const size_t kept = static_cast<size_t>(std::ceil(share * static_cast<double>(n)));
      std::vector<float> magnitudes;
      for (const float v : values) magnitudes.push_back(std::abs(v));
      std::sort(magnitudes.rbegin(), magnitudes.rend());
      size_t sent = 0;
      for (size_t i = 0; i < n; ++i) {
        const bool large = std::abs(values[i]) >= magnitudes[kept - 1];
        EXPECT_EQ(out[i], large ? values[i] : 0.0f);
        sent += large;
      }
      EXPECT_EQ(sent, kept);
      EXPECT_EQ(WireBytes(format, n), 8 * kept);
    }
  }
}

TEST(TopkTest, OfEqualOnesTheFirstTravel) {
  const WireFormat format = *ParseWireFormat("topk", 0.5, 1);
  const std::vector<float> values = {1, -1, 2, 1, 1, 1};
  EXPECT_EQ(RoundTrip(format, values), (std::vector<float>{1, -1, 2, 0, 0, 0}));
}

TEST(TopkTest, PlacesThatRepeatOrLieOutsideAreDataLoss) {
  const WireFormat format = *ParseWireFormat("topk", 0.5, 1);
  const std::vector<float> values = {5, 1, 4, 2};
  const std::vector<uint8_t> good = Encoded(format, values);
  std::vector<float> out(4);
  for (const auto& [first, second] :
       std::vector<std::pair<uint32_t, uint32_t>>{{2, 2}, {2, 0}, {0, 4}, {0, ~0u}, {~0u, ~0u}}) {
    std::vector<uint8_t> wire = good;
    std::memcpy(wire.data(), &first, 4);
    std::memcpy(wire.data() + 8, &second, 4);
    const absl::Status status = Decode(format, wire, absl::MakeSpan(out));
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << first << " " << second;
  }
}

}  // namespace
}  // namespace gg
