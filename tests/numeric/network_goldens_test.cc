// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

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
constexpr double kNoGradient = 1e-6;

constexpr int kSteps = 3;
constexpr double kRate = 0.05;

class NetworkGoldensTest : public NumericTest {
 protected:
  // A batch normalisation's part of the buffers.
  struct Statistics {
    std::string name;
    Flat mean, variance;
  };

  // `normalised`: name and channels of the batch normalisations, in forward order.
  void ExpectThreeSteps(NetworkOptions options,
                        const std::vector<std::pair<std::string, size_t>>& normalised = {},
                        bool nesterov = false) {
    const Golden golden(options.model.name + (nesterov ? "_nesterov" : ""));
    auto made = MakeNetwork(*device_, options);
    ASSERT_TRUE(made.ok()) << made.status();
    Network& net = **made;
    ParamArena& arena = net.arena();
    std::vector<Statistics> running;
    Flat buffers = arena.buffers();
    for (const auto& [name, channels] : normalised) {
      running.push_back({name, buffers.subspan(0, channels), buffers.subspan(channels, channels)});
      buffers.remove_prefix(2 * channels);
    }
    ASSERT_TRUE(buffers.empty()) << "buffers that nobody compares";
    ForEachTensor(arena, [&](const TensorInfo& t) { FillParameter(t, arena.weights(t)); });
    for (const Statistics& s : running) FillRunning(s.name, s.mean, s.variance);
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
      ASSERT_TRUE(net.Backward([&](BlockIndex b) { return (*sgd)->Update(b, step, kRate); }).ok());
      if (step > 0) continue;
      ForEachTensor(arena, [&](const TensorInfo& t) {
        if (HasNoEffect(t.name)) {
          for (const float g : arena.gradients(t)) ASSERT_NEAR(g, 0, kNoGradient) << t.name;
          return;
        }
        golden.Expect(absl::StrCat("grad.", t.name), arena.gradients(t), kGradientTolerance);
      });
    }
    ForEachTensor(arena, [&](const TensorInfo& t) {
      golden.Expect(absl::StrCat("final.", t.name), arena.weights(t), kWeightTolerance);
    });
    for (const Statistics& s : running) {
      golden.Expect(absl::StrCat("final.", s.name, ".running_mean"), s.mean, kWeightTolerance);
      golden.Expect(absl::StrCat("final.", s.name, ".running_variance"), s.variance,
                    kWeightTolerance);
    }
    if (running.empty()) return;
    auto inference = net.Evaluate(x, labels);
    ASSERT_TRUE(inference.ok()) << inference.status();
    const double want = golden.scalar("inference.loss");
    EXPECT_NEAR(inference->loss_sum, want, kLossTolerance * want);
  }

  // lenet-bn: between these and the next normalisation, which removes a shift, all is linear or a
  // maximum.
  static bool HasNoEffect(const std::string& tensor) {
    return tensor == "bn1.beta" || tensor == "bn2.beta";
  }

  // As the script does: the bound in double, rounded once.
  static void FillParameter(const TensorInfo& t, Flat weights) {
    if (absl::EndsWith(t.name, ".gamma")) {
      Fill(t.name, 0.5f, weights);
      for (float& w : weights) w += 1.0f;
      return;
    }
    if (absl::EndsWith(t.name, ".bias") || absl::EndsWith(t.name, ".beta")) {
      Fill(t.name, 0.1f, weights);
      return;
    }
    const float fan_in = static_cast<float>(t.count) / static_cast<float>(t.shape[0]);
    Fill(t.name, static_cast<float>(std::sqrt(3.0 / fan_in)), weights);
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

TEST_P(NetworkGoldensTest, LeNetWithBatchNorm) {
  ExpectThreeSteps(Options("lenet-bn", {1, 28, 28}, 8), {{"bn1", 20}, {"bn2", 50}, {"bn3", 500}});
}

TEST_P(NetworkGoldensTest, CifarNet) {
  ExpectThreeSteps(Options("cifarnet", {3, 32, 32}, 4));
}

TEST_P(NetworkGoldensTest, Mlp) {
  NetworkOptions options = Options("mlp", {1, 8, 8}, 8);
  options.model.hidden = {32, 16};
  ExpectThreeSteps(options);
  ExpectThreeSteps(options, {}, /*nesterov=*/true);
}

}  // namespace
}  // namespace gg
