// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/numeric/device_test.h"
#include "tests/numeric/golden.h"
#include "worker/nn/network.h"
#include "worker/optim/optimizer.h"

namespace gg {
namespace {

// fp32 through all layers against double. Gradients are small differences of large sums, weights
// hardly move.
constexpr double kLossTolerance = 1e-5;
constexpr double kGradientTolerance = 5e-5;
constexpr double kWeightTolerance = 1e-5;

constexpr int kSteps = 3;
constexpr double kRate = 0.05;

class NetworkGoldensTest : public NumericTest {
 protected:
  void ExpectThreeSteps(NetworkOptions options, bool nesterov = false) {
    const Golden golden(options.model.name + (nesterov ? "_nesterov" : ""));
    auto made = MakeNetwork(*device_, options);
    ASSERT_TRUE(made.ok()) << made.status();
    Network& net = **made;
    ParamArena& arena = net.arena();
    ForEachTensor(arena, [&](const TensorInfo& t) {
      const float fan_in = static_cast<float>(t.count) / static_cast<float>(t.shape[0]);
      const bool bias = absl::EndsWith(t.name, ".bias");
      // As the script does: the bound in double, rounded once.
      Fill(t.name, bias ? 0.1f : static_cast<float>(std::sqrt(3.0 / fan_in)), arena.weights(t));
    });
    auto sgd =
        MakeOptimizer({.name = "sgd", .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov},
                      *device_, *stream_, arena);
    ASSERT_TRUE(sgd.ok()) << sgd.status();
    const auto x = Filled("x", static_cast<size_t>(options.batch_size * options.input.floats()));
    std::vector<int32_t> labels;
    for (int i = 0; i < options.batch_size; ++i) labels.push_back(i * 3 % 10);
    for (int step = 0; step < kSteps; ++step) {
      auto loss = net.Forward(step, x, labels, [](BlockIndex) { return absl::OkStatus(); });
      ASSERT_TRUE(loss.ok()) << loss.status();
      const double want = golden.scalar(absl::StrCat("step", step, ".loss"));
      EXPECT_NEAR(loss->loss_sum, want, kLossTolerance * want) << "step " << step;
      ASSERT_TRUE(net.Backward([&](BlockIndex b) { return (*sgd)->Update(b, kRate); }).ok());
      if (step > 0) continue;
      ForEachTensor(arena, [&](const TensorInfo& t) {
        golden.Expect(absl::StrCat("grad.", t.name), arena.gradients(t), kGradientTolerance);
      });
    }
    ForEachTensor(arena, [&](const TensorInfo& t) {
      golden.Expect(absl::StrCat("final.", t.name), arena.weights(t), kWeightTolerance);
    });
  }

  template <typename Fn>
  static void ForEachTensor(const ParamArena& arena, const Fn& fn) {
    for (BlockIndex b = 0; b < arena.block_count(); ++b) {
      for (const TensorInfo& t : arena.block(b).tensors) fn(t);
    }
  }

  static NetworkOptions Options(const char* model, InputShape input, int64_t batch) {
    NetworkOptions options;
    options.model.name = model;
    options.input = input;
    options.batch_size = batch;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, NetworkGoldensTest, testing::Values("reference", "onednn"));

TEST_P(NetworkGoldensTest, LeNet) {
  ExpectThreeSteps(Options("lenet", {1, 28, 28}, 8));
}

TEST_P(NetworkGoldensTest, CifarNet) {
  ExpectThreeSteps(Options("cifarnet", {3, 32, 32}, 4));
}

TEST_P(NetworkGoldensTest, Mlp) {
  NetworkOptions options = Options("mlp", {1, 8, 8}, 8);
  options.model.hidden = {32, 16};
  ExpectThreeSteps(options);
  ExpectThreeSteps(options, /*nesterov=*/true);
}

}  // namespace
}  // namespace gg
