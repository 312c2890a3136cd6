// SPDX-License-Identifier: Apache-2.0
// What holds of all rules, and the layer-wise ones against their formulae in double precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/spec/schema.h"
#include "gmock/gmock.h"
#include "tests/unit/worker/optim/fixture.h"

namespace gg {
namespace {

using testing::HasSubstr;

constexpr int kSteps = 6;

std::vector<std::string> Names() {
  const auto& choices = FindField("spec.optimizer.name")->choices;
  return {choices.begin(), choices.end()};
}

bool IsLayerwise(const std::string& name) {
  return name == "lars" || name == "lamb";
}

class EveryRule : public OptimizerTest {
 protected:
  OptimizerSpec Spec(const std::string& name) const {
    OptimizerSpec spec;
    spec.name = name;
    spec.weight_decay = 0.05;
    spec.trust_coefficient = 0.1;
    return spec;
  }
  static double Rate(int step) { return 0.1 / (1 + step); }
  void Train(Optimizer& optimizer, ParamArena& arena, int steps) {
    for (int step = 0; step < steps; ++step) {
      Scatter(arena, arena.gradients(), step);
      for (BlockIndex b = 0; b < arena.block_count(); ++b) {
        ASSERT_TRUE(optimizer.Update(b, static_cast<uint64_t>(step), Rate(step)).ok());
      }
    }
  }
};

TEST_F(EveryRule, HasTheStateThatItNeeds) {
  const std::map<std::string, int> vectors = {{"sgd", 1},   {"sgd-pytorch", 1}, {"adam", 2},
                                              {"adamw", 2}, {"lars", 1},        {"lamb", 2}};
  for (const std::string& name : Names()) {
    auto arena = MakeArena();
    ASSERT_NE(Make(Spec(name), *arena), nullptr);
    ASSERT_EQ(vectors.count(name), 1u) << name;
    EXPECT_EQ(arena->state_count(), vectors.at(name)) << name;
    OptimizerSpec without = Spec(name);
    without.momentum = 0;
    ASSERT_NE(Make(without, *arena), nullptr);
    EXPECT_EQ(arena->state_count(), vectors.at(name) == 1 ? 0 : 2) << name;
  }
}

TEST_F(EveryRule, PiecesGiveTheBitsOfTheWholeOrAreRefused) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    OptimizerSpec spec = Spec(name);
    spec.weight_decays = {{"*.bias", 0}};
    spec.rate_factors = {{"fc1.*", 0.5}};
    auto whole = MakeArena(), pieced = MakeArena();
    Scatter(*whole, whole->weights(), 77);
    Scatter(*pieced, pieced->weights(), 77);
    auto by_blocks = Make(spec, *whole), by_pieces = Make(spec, *pieced);
    if (IsLayerwise(name)) {
      const absl::Status refused = by_pieces->UpdateRange(0, 16, 0, 0.1);
      EXPECT_TRUE(absl::IsInvalidArgument(refused));
      EXPECT_THAT(refused.message(), HasSubstr(name + " needs the norms of whole layers"));
      continue;
    }
    Train(*by_blocks, *whole, kSteps);
    for (int step = 0; step < kSteps; ++step) {
      Scatter(*pieced, pieced->gradients(), step);
      for (size_t at = 0, count = 1; at < pieced->size(); at += count, count = count * 2 + 3) {
        ASSERT_TRUE(by_pieces
                        ->UpdateRange(at, std::min(count, pieced->size() - at),
                                      static_cast<uint64_t>(step), Rate(step))
                        .ok());
      }
    }
    EXPECT_EQ(Values(pieced->weights()), Values(whole->weights()));
    for (int i = 0; i < whole->state_count(); ++i) {
      EXPECT_EQ(Values(pieced->state(i)), Values(whole->state(i)));
    }
  }
}

TEST_F(EveryRule, GapsStayZeroAndOnlyTheBlockIsTouched) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    auto arena = MakeArena();
    Scatter(*arena, arena->weights(), 5);
    auto optimizer = Make(Spec(name), *arena);
    const auto other = Values(arena->weights(1));
    Scatter(*arena, arena->gradients(), 0);
    const auto before = Values(arena->weights(0));
    ASSERT_TRUE(optimizer->Update(0, 0, 0.1).ok());
    EXPECT_NE(Values(arena->weights(0)), before);
    EXPECT_EQ(Values(arena->weights(1)), other);
    Train(*optimizer, *arena, kSteps);
    std::vector<bool> used(arena->size());
    for (const TensorInfo& t : Tensors(*arena)) {
      for (size_t i = 0; i < t.count; ++i) used[t.offset + i] = true;
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i]) continue;
      EXPECT_EQ(arena->weights()[i], 0.0f);
      for (int k = 0; k < arena->state_count(); ++k) EXPECT_EQ(arena->state(k)[i], 0.0f);
    }
  }
}

TEST_F(EveryRule, ABlockThatComesLateIsUpdatedAsAtItsOwnStep) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    auto early = MakeArena(), late = MakeArena();
    Scatter(*early, early->weights(), 3);
    Scatter(*late, late->weights(), 3);
    auto now = Make(Spec(name), *early), later = Make(Spec(name), *late);
    for (uint64_t step = 0; step < 4; ++step) {
      Scatter(*early, early->gradients(), static_cast<int>(step));
      Scatter(*late, late->gradients(), static_cast<int>(step));
      ASSERT_TRUE(now->Update(0, step, 0.1).ok());
      ASSERT_TRUE(now->Update(1, step, 0.1).ok());
      ASSERT_TRUE(later->Update(1, step, 0.1).ok());
      ASSERT_TRUE(later->Update(0, step, 0.1).ok());
    }
    EXPECT_EQ(Values(early->weights()), Values(late->weights()));
  }
}

TEST_F(EveryRule, WithoutDecayBiasesDoNotShrink) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    OptimizerSpec spec = Spec(name);
    spec.weight_decays = {{"*.bias", 0}};
    auto arena = MakeArena();
    Scatter(*arena, arena->weights(), 9);
    const auto before = Values(arena->weights());
    auto optimizer = Make(spec, *arena);
    ASSERT_TRUE(optimizer->Update(0, 0, 0.1).ok());  // gradients are zero: there is decay alone
    ASSERT_TRUE(optimizer->Update(1, 0, 0.1).ok());
    for (const TensorInfo& t : Tensors(*arena)) {
      const bool bias = t.name == "fc1.bias" || t.name == "fc2.bias";
      for (size_t i = t.offset; i < t.offset + t.count; ++i) {
        if (bias) {
          EXPECT_EQ(arena->weights()[i], before[i]) << t.name;
        } else if (before[i] != 0) {
          EXPECT_LT((arena->weights()[i] - before[i]) * before[i], 0) << t.name;
        }
      }
    }
  }
}

TEST_F(EveryRule, AFactorOfZeroLeavesTheWeightsAsTheyAre) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    OptimizerSpec spec = Spec(name);
    spec.rate_factors = {{"fc2.*", 0}};
    auto arena = MakeArena();
    Scatter(*arena, arena->weights(), 9);
    const auto frozen = Values(arena->weights(0)), free = Values(arena->weights(1));
    Train(*Make(spec, *arena), *arena, kSteps);
    EXPECT_EQ(Values(arena->weights(0)), frozen);
    EXPECT_NE(Values(arena->weights(1)), free);
  }
}

TEST_F(EveryRule, WrongUseIsRefused) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    auto arena = MakeArena();
    auto optimizer = Make(Spec(name), *arena);
    EXPECT_TRUE(absl::IsInvalidArgument(optimizer->Update(2, 0, 0.1)));
    EXPECT_TRUE(absl::IsInvalidArgument(optimizer->Update(-1, 0, 0.1)));
    for (const double rate : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(optimizer->Update(0, 0, rate)));
    }
  }
}

TEST_F(EveryRule, ImpossibleSpecificationsAreRefused) {
  const double nan = std::nan("");
  for (const std::string& name : Names()) {
    EXPECT_THAT(Refusal({.name = name, .momentum = 1}).message(), HasSubstr("momentum"));
    EXPECT_THAT(Refusal({.name = name, .weight_decay = nan}).message(), HasSubstr("weight_decay"));
    EXPECT_THAT(Refusal({.name = name, .beta1 = 1}).message(), HasSubstr("beta1"));
    EXPECT_THAT(Refusal({.name = name, .beta2 = -0.1}).message(), HasSubstr("beta2"));
    EXPECT_THAT(Refusal({.name = name, .epsilon = 0}).message(), HasSubstr("epsilon"));
    EXPECT_THAT(Refusal({.name = name, .trust_coefficient = nan}).message(),
                HasSubstr("trust_coefficient"));
    EXPECT_THAT(Refusal({.name = name, .clip_norm = -1}).message(), HasSubstr("clip_norm"));
    EXPECT_THAT(Refusal({.name = name, .clip_value = nan}).message(), HasSubstr("clip_value"));
  }
}

// The layer-wise rules for one parameter, straight from the papers, in double precision.
class LayerwiseOracle {
 public:
  LayerwiseOracle(const OptimizerSpec& spec, std::vector<float> weights, double decay)
      : w(weights.begin(), weights.end()), spec_(spec), decay_(decay), m_(w.size()), v_(w.size()) {}

  void Step(const std::vector<float>& g, int step, double rate) {
    spec_.name == "lars" ? Lars(g, rate) : Lamb(g, step, rate);
  }

  std::vector<double> w;

 private:
  template <typename Values>
  static double Norm(const Values& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum);
  }

  // You, Gitman, Ginsburg (2017), algorithm 1.
  void Lars(const std::vector<float>& g, double rate) {
    const double weights = Norm(w), gradient = Norm(g);
    const double local = weights > 0 && gradient > 0
                             ? spec_.trust_coefficient * weights / (gradient + decay_ * weights)
                             : 1;
    for (size_t i = 0; i < w.size(); ++i) {
      v_[i] = spec_.momentum * v_[i] + rate * local * (g[i] + decay_ * w[i]);
      w[i] -= v_[i];
    }
  }

  // You et al. (2020), algorithm 2.
  void Lamb(const std::vector<float>& g, int step, double rate) {
    std::vector<double> r(w.size());
    for (size_t i = 0; i < w.size(); ++i) {
      m_[i] = spec_.beta1 * m_[i] + (1 - spec_.beta1) * g[i];
      v_[i] = spec_.beta2 * v_[i] + (1 - spec_.beta2) * double{g[i]} * g[i];
      const double mean = m_[i] / (1 - std::pow(spec_.beta1, step + 1));
      const double square = v_[i] / (1 - std::pow(spec_.beta2, step + 1));
      r[i] = mean / (std::sqrt(square) + spec_.epsilon) + decay_ * w[i];
    }
    const double ratio = Norm(w) > 0 && Norm(r) > 0 ? Norm(w) / Norm(r) : 1;
    for (size_t i = 0; i < w.size(); ++i) w[i] -= rate * ratio * r[i];
  }

  const OptimizerSpec spec_;
  const double decay_;
  std::vector<double> m_, v_;
};

TEST_F(EveryRule, LayerwiseRulesFollowTheirPapers) {
  for (const char* name : {"lars", "lamb"}) {
    OptimizerSpec spec = Spec(name);
    spec.weight_decays = {{"*.bias", 0}};
    spec.beta2 = 0.99;
    spec.epsilon = 1e-6;
    auto arena = MakeArena();
    Scatter(*arena, arena->weights(), 9);
    const TensorInfo from_zero = Tensors(*arena).back();
    for (float& w : arena->weights(from_zero)) w = 0;  // as biases begin
    auto optimizer = Make(spec, *arena);
    std::vector<LayerwiseOracle> oracles;
    for (const TensorInfo& t : Tensors(*arena)) {
      const bool bias = t.name == "fc1.bias" || t.name == "fc2.bias";
      oracles.emplace_back(spec, Values(arena->weights(t)), bias ? 0 : spec.weight_decay);
    }
    for (int step = 0; step < 20; ++step) {
      Scatter(*arena, arena->gradients(), step);
      for (BlockIndex b = 0; b < arena->block_count(); ++b) {
        ASSERT_TRUE(optimizer->Update(b, static_cast<uint64_t>(step), Rate(step)).ok());
      }
      size_t i = 0;
      for (const TensorInfo& t : Tensors(*arena)) {
        LayerwiseOracle& oracle = oracles[i++];
        oracle.Step(Values(arena->gradients(t)), step, Rate(step));
        for (size_t k = 0; k < t.count; ++k) {
          ASSERT_NEAR(arena->weights(t)[k], oracle.w[k], 1e-6)
              << name << " step " << step << " " << t.name << "[" << k << "]";
        }
      }
    }
  }
}

}  // namespace
}  // namespace gg
