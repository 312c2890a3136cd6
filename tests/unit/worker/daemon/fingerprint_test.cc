// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/fingerprint.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace gg {
namespace {

Dataset Sample() {
  Dataset data;
  data.shape = {1, 2, 2};
  data.classes = 3;
  data.pixels = {1, 2, 3, 4, 5, 6, 7, 8};
  data.labels = {0, 2};
  return data;
}

TEST(DataFingerprint, ChangesWithEverythingThatMatters) {
  const Dataset base = Sample();
  std::set<uint64_t> seen = {DataFingerprint(base, base)};
  const auto changed = [&](auto change) {
    Dataset other = Sample();
    change(other);
    return seen.insert(DataFingerprint(other, base)).second &&
           seen.insert(DataFingerprint(base, other)).second;
  };
  EXPECT_TRUE(changed([](Dataset& d) { d.pixels[7] = 9; }));
  EXPECT_TRUE(changed([](Dataset& d) { d.labels[0] = 1; }));
  EXPECT_TRUE(changed([](Dataset& d) { d.shape = {1, 1, 4}; }));
  EXPECT_TRUE(changed([](Dataset& d) { d.classes = 4; }));
  EXPECT_TRUE(changed([](Dataset& d) {
    d.labels.push_back(0);
    d.pixels.insert(d.pixels.end(), 4, 0);
  }));
  EXPECT_EQ(DataFingerprint(Sample(), Sample()), DataFingerprint(base, base));
}

TEST(ModelFingerprint, ChangesWithNamesShapesAndWeights) {
  auto device = MakeDevice("reference", {});
  ASSERT_TRUE(device.ok());
  const auto make = [&](const std::string& name, std::vector<int64_t> shape) {
    BlockInfo block;
    block.name = "fc";
    block.tensors.push_back({name, std::move(shape), 0, 0});
    auto arena = ParamArena::Create(**device, {block});
    EXPECT_TRUE(arena.ok()) << arena.status();
    return *std::move(arena);
  };
  auto base = make("fc.weight", {2, 3});
  const uint64_t expected = ModelFingerprint(*base);
  EXPECT_EQ(ModelFingerprint(*make("fc.weight", {2, 3})), expected);
  EXPECT_NE(ModelFingerprint(*make("fc.bias", {2, 3})), expected);
  EXPECT_NE(ModelFingerprint(*make("fc.weight", {3, 2})), expected);
  base->weights()[0] = 1;
  EXPECT_NE(ModelFingerprint(*base), expected);
}

}  // namespace
}  // namespace gg
