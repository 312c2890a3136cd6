// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/dropout.h"

#include <algorithm>

#include "tests/unit/worker/nn/fixture.h"

namespace gg {
namespace {

constexpr int64_t kValues = 4000;

class DropoutTest : public NetworkTest {
 protected:
  DropoutTest() : stream_(device_->MakeStream().value()) {}

  std::unique_ptr<Layer> Bound(double probability, uint64_t seed, Rank rank,
                               std::string name = "drop1") {
    auto layer = MakeDropout(std::move(name), probability);
    EXPECT_TRUE(
        layer
            ->Bind(*device_, {.batch = 4, .input = {kValues / 4, 1, 1}, .seed = seed, .rank = rank})
            .ok());
    return layer;
  }

  std::vector<float> Mask(Layer& layer, uint64_t step) {
    const std::vector<float> ones(kValues, 1.0f);
    std::vector<float> y(kValues);
    EXPECT_TRUE(layer.Forward(*stream_, step, {}, ones, absl::MakeSpan(y)).ok());
    return y;
  }

  const std::unique_ptr<Stream> stream_;
};

TEST_F(DropoutTest, DropsTheShareAskedForAndKeepsTheMean) {
  const auto mask = Mask(*Bound(0.25, 1, 0), 0);
  const auto dropped = std::count(mask.begin(), mask.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / kValues, 0.25, 0.03);
  for (const float m : mask) EXPECT_TRUE(m == 0.0f || m == 1.0f / 0.75f) << m;
}

TEST_F(DropoutTest, MaskIsAPureFunctionOfSeedLayerRankAndStep) {
  auto layer = Bound(0.5, 1, 2);
  const auto mask = Mask(*layer, 7);
  EXPECT_NE(Mask(*layer, 8), mask) << "step";
  EXPECT_EQ(Mask(*layer, 7), mask) << "the same step again";
  EXPECT_EQ(Mask(*Bound(0.5, 1, 2), 7), mask) << "another instance";
  EXPECT_NE(Mask(*Bound(0.5, 1, 3), 7), mask) << "rank";
  EXPECT_NE(Mask(*Bound(0.5, 2, 2), 7), mask) << "seed";
  EXPECT_NE(Mask(*Bound(0.5, 1, 2, "drop2"), 7), mask) << "layer";
}

TEST_F(DropoutTest, GradientPassesWhereTheValueDid) {
  auto layer = Bound(0.5, 1, 0);
  const auto mask = Mask(*layer, 0);
  std::vector<float> d(kValues, 3.0f);
  ASSERT_TRUE(layer->BackwardData(*stream_, {}, {}, mask, d, absl::MakeSpan(d)).ok());
  for (int64_t i = 0; i < kValues; ++i) ASSERT_EQ(d[i], 3.0f * mask[i]);
}

TEST_F(DropoutTest, NetworksOfTwoRanksDropDifferentlyAndRepeatably) {
  NetworkOptions options = SmallMlp();
  options.model.dropout = 0.5;
  auto first = Make(options);
  const double loss = first->Forward(3, x_, labels_, NoHook)->loss_sum;
  EXPECT_EQ(Make(options)->Forward(3, x_, labels_, NoHook)->loss_sum, loss);
  options.rank = 1;
  EXPECT_NE(Make(options)->Forward(3, x_, labels_, NoHook)->loss_sum, loss);
}

}  // namespace
}  // namespace gg
