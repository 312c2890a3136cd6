// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/numeric/device_test.h"
#include "tests/numeric/golden.h"
#include "worker/optim/gradient_clip.h"
#include "worker/optim/optimizer.h"

namespace gg {
namespace {

constexpr int kSteps = 20;
// fp32 against double, relative to the largest value of a parameter.
constexpr double kTolerance = 1e-6;

// The problem of `optimizer` in scripts/goldens-pytorch: the same parameters, gradients and rates.
class OptimizerGoldensTest : public NumericTest {
 protected:
  OptimizerSpec Spec(const std::string& name) const {
    OptimizerSpec spec;
    spec.name = name;
    spec.weight_decay = 0.01;
    spec.weight_decays = {{"*.bias", 0}, {"bn?.*", 0}};
    spec.rate_factors = {{"bn1.*", 2}};
    return spec;
  }

  // `pieces`: the arena is updated piece by piece, as reduce-scatter does, and not block by block.
  void ExpectTwentySteps(const std::string& name, const OptimizerSpec& spec, bool pieces = false) {
    SCOPED_TRACE(absl::StrCat(name, pieces ? " in pieces" : ""));
    const Golden golden("optimizer_" + name);
    auto made = ParamArena::Create(
        *device_,
        {{.name = "fc2",
          .tensors = {{.name = "fc2.weight", .shape = {3, 7}}, {.name = "fc2.bias", .shape = {3}}}},
         {.name = "fc1",
          .tensors = {{.name = "bn1.gamma", .shape = {7}},
                      {.name = "bn1.beta", .shape = {7}},
                      {.name = "fc1.weight", .shape = {7, 30}},
                      {.name = "fc1.bias", .shape = {7}}}}});
    ASSERT_TRUE(made.ok()) << made.status();
    ParamArena& arena = **made;
    auto optimizer = MakeOptimizer(spec, *device_, *stream_, arena);
    ASSERT_TRUE(optimizer.ok()) << optimizer.status();
    GradientClip clip(spec, *device_, *stream_, arena);
    std::vector<TensorInfo> tensors;
    for (BlockIndex b = 0; b < arena.block_count(); ++b) {
      const auto& of_block = arena.block(b).tensors;
      tensors.insert(tensors.end(), of_block.begin(), of_block.end());
    }
    for (const TensorInfo& t : tensors) Fill(t.name, 1.0f, arena.weights(t));
    for (int step = 0; step < kSteps; ++step) {
      for (const TensorInfo& t : tensors) {
        const auto target = Filled("target." + t.name, t.count);
        const auto noise = Filled(absl::StrCat("noise", step, ".", t.name), t.count, 0.5f);
        const Flat w = arena.weights(t), g = arena.gradients(t);
        for (size_t i = 0; i < t.count; ++i) {
          g[i] = static_cast<float>(0.5 * (double{w[i]} - target[i]) + noise[i]);
        }
      }
      for (BlockIndex b = 0; b < arena.block_count(); ++b) ASSERT_TRUE(clip.Block(b).ok());
      ASSERT_TRUE(clip.All().ok());
      const double rate = 0.05 / (1 + 0.1 * step);
      if (pieces) {
        for (size_t at = 0, count = 1; at < arena.size(); at += count, count = 2 * count + 3) {
          const size_t left = std::min(count, arena.size() - at);
          ASSERT_TRUE((*optimizer)->UpdateRange(at, left, step, rate).ok());
        }
      } else {
        for (BlockIndex b = 0; b < arena.block_count(); ++b) {
          ASSERT_TRUE((*optimizer)->Update(b, step, rate).ok());
        }
      }
      if (step > 0) continue;
      for (const TensorInfo& t : tensors) {
        golden.Expect(absl::StrCat("step0.", t.name), arena.weights(t), kTolerance);
      }
    }
    for (const TensorInfo& t : tensors) {
      golden.Expect(absl::StrCat("final.", t.name), arena.weights(t), kTolerance);
      for (int i = 0; i < arena.state_count(); ++i) {
        golden.Expect(absl::StrCat("state", i, ".", t.name),
                      arena.state(i).subspan(t.offset, t.count), kTolerance);
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, OptimizerGoldensTest, testing::Values("reference", "onednn"));

TEST_P(OptimizerGoldensTest, SgdInPyTorchsConvention) {
  OptimizerSpec spec = Spec("sgd-pytorch");
  ExpectTwentySteps("sgd_pytorch", spec);
  ExpectTwentySteps("sgd_pytorch", spec, /*pieces=*/true);
  spec.nesterov = true;
  ExpectTwentySteps("sgd_pytorch_nesterov", spec);
}

TEST_P(OptimizerGoldensTest, WithoutMomentumBothConventionsAreOne) {
  for (const char* name : {"sgd", "sgd-pytorch"}) {
    OptimizerSpec spec = Spec(name);
    spec.momentum = 0;
    ExpectTwentySteps("sgd_plain", spec);
    ExpectTwentySteps("sgd_plain", spec, /*pieces=*/true);
  }
}

TEST_P(OptimizerGoldensTest, Adam) {
  OptimizerSpec spec = Spec("adam");
  spec.beta2 = 0.99;
  spec.epsilon = 1e-6;
  ExpectTwentySteps("adam", spec);
  ExpectTwentySteps("adam", spec, /*pieces=*/true);
}

TEST_P(OptimizerGoldensTest, AdamW) {
  OptimizerSpec spec = Spec("adamw");
  spec.beta1 = 0.8;
  spec.epsilon = 1e-6;
  ExpectTwentySteps("adamw", spec);
  ExpectTwentySteps("adamw", spec, /*pieces=*/true);
}

TEST_P(OptimizerGoldensTest, Clipping) {
  OptimizerSpec spec = Spec("sgd-pytorch");
  spec.clip_norm = 5.5;
  ExpectTwentySteps("clip_norm", spec);
  spec.clip_norm = 0;
  spec.clip_value = 0.25;
  ExpectTwentySteps("clip_value", spec);
  OptimizerSpec both = Spec("adam");
  both.beta2 = 0.99;
  both.epsilon = 1e-6;
  both.clip_norm = 4.5;
  both.clip_value = 0.5;
  ExpectTwentySteps("clip_both", both);
}

}  // namespace
}  // namespace gg
