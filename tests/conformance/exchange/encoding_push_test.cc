// SPDX-License-Identifier: Apache-2.0
// Every encoding in the methods that push halves of models which are taken in a step later, for 2 .. 9 workers in time
// with each other on the virtual network. The model that stays behind shows what its other half has become: together
// they are what there was. So each push is held against what rounding may take of it, and each merge against what was
// pushed, one step at a time and in double precision.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/encoding_bounds.h"
#include "tests/support/sim_cluster.h"
#include "tests/support/sim_threads.h"
#include "worker/exchange/gosgd.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 13;

struct Push {
  Rank to;
  double weight;
  Vector model;
};

struct Case {
  std::string encoding;
  std::string method;
  int size;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* encoding : {"fp32", "bf16", "fp16", "int8"}) {
    for (const char* method : {"gosgd", "gosgd-rare", "sgp"}) {
      for (int size = 2; size <= 9; ++size) cases.push_back({encoding, method, size});
    }
  }
  return cases;
}

class PushEncoding : public testing::TestWithParam<Case> {
 protected:
  int size() const { return GetParam().size; }
  bool sgp() const { return GetParam().method == "sgp"; }
  double probability() const { return GetParam().method == "gosgd" ? 1 : 0.4; }
  SimScenario Scenario() const {
    SimScenario scenario;
    scenario.size = size();
    scenario.model = model_;
    scenario.spec = SimSpec("weights", sgp() ? "step" : "layerwise");
    scenario.spec.algorithm = sgp() ? "sgp" : "gosgd";
    scenario.spec.push_probability = probability();
    scenario.spec.encoding = GetParam().encoding;
    return scenario;
  }
  // To whom a worker pushes after a step; -1: to nobody.
  Rank Target(Rank rank, uint64_t step) const {
    if (sgp()) return schedule_->At(rank, step).send_to;
    Rng rng(model_.seed, absl::StrCat("gosgd/", rank), step);
    if (rng.Uniform() >= probability()) return -1;
    const Rank other = static_cast<Rank>(rng.Below(size() - 1));
    return other < rank ? other : other + 1;
  }
  // Follows all steps; told of every push: the model that was halved, and what went away of it.
  template <typename OnPush>
  void Follow(OnPush on_push, uint64_t steps) {
    schedule_ = MakeSchedule("dissemination", {.size = size(), .seed = model_.seed, .rotate = true})
                    .value();
    SimCluster cluster(Scenario());
    const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
    Vector weight(size(), 1.0 / size());
    std::vector<Push> under_way;
    for (uint64_t step = 0; step < steps; ++step) {
      Vectors w, v;
      for (Rank r = 0; r < size(); ++r) {
        w.push_back(Doubles(cluster.worker(r).Weights()));
        v.push_back(Doubles(cluster.worker(r).Momentum()));
      }
      for (const Push& push : std::exchange(under_way, {})) {
        const double sum = weight[push.to] + push.weight;
        for (const size_t i : offsets) {
          w[push.to][i] = (weight[push.to] * w[push.to][i] + push.weight * push.model[i]) / sum;
        }
        weight[push.to] = sum;
      }
      for (Rank r = 0; r < size(); ++r) {
        for (const size_t i : offsets) {
          const double noise = model_.noise ? model_.Noise(r, step, i) : 0;
          const double g = model_.curvature * (w[r][i] - model_.Target(r, i)) + noise;
          w[r][i] -= model_.momentum * v[r][i] + model_.Rate(step) * g;
        }
      }
      ASSERT_TRUE(cluster.RunSteps(step, 1).ok());
      for (Rank r = 0; r < size(); ++r) {
        const Vector kept = Doubles(cluster.worker(r).Weights());
        const Rank to = Target(r, step);
        Vector pushed = w[r];
        for (const size_t i : offsets) {
          if (to < 0) {
            ASSERT_NEAR(kept[i], w[r][i], kFloat) << "step " << step << " rank " << r;
          }
          pushed[i] = 2 * w[r][i] - kept[i];
        }
        if (to < 0) continue;
        on_push(w[r], pushed, offsets);
        if (testing::Test::HasFailure()) FAIL() << "step " << step << " rank " << r;
        weight[r] /= 2;
        under_way.push_back({to, weight[r], std::move(pushed)});
      }
      double sum = 0;
      for (const Push& push : under_way) sum += push.weight;
      for (Rank r = 0; r < size(); ++r) {
        sum += weight[r];
        if (sgp()) continue;
        EXPECT_NEAR(dynamic_cast<GoSgd&>(cluster.worker(r).exchange()).weight(), weight[r], 1e-15);
      }
      EXPECT_NEAR(sum, 1, 1e-14);
    }
  }

  SimModel model_;
  std::unique_ptr<PartnerSchedule> schedule_;
};

TEST_P(PushEncoding, EveryPushIsRoundedOnceAndEveryMergeIsTheRules) {
  int pushes = 0;
  const auto rounded_once = [&](const Vector& model, const Vector& pushed,
                                const std::vector<size_t>& offsets) {
    ++pushes;
    const Vector losses = LossesOf(GetParam().encoding, model, 0, model.size());
    for (const size_t i : offsets) {
      EXPECT_NEAR(pushed[i], model[i], losses[i] + 3 * kFloat) << "place " << i;
    }
  };
  Follow(rounded_once, kSteps);
  EXPECT_GT(pushes, 0);
}

TEST_P(PushEncoding, WhatInt8TakesHasTheMeanZero) {
  if (GetParam().encoding != "int8" || GetParam().method == "gosgd-rare") return;
  double sum = 0, variance = 0;
  const auto add = [&](const Vector& model, const Vector& pushed,
                       const std::vector<size_t>& offsets) {
    const Vector losses = LossesOf("int8", model, 0, model.size());
    for (const size_t i : offsets) {
      sum += pushed[i] - model[i];
      variance += 0.25 * losses[i] * losses[i];  // up or down by one step: half of it at most
    }
  };
  Follow(add, 60);
  EXPECT_LT(std::abs(sum), 5 * std::sqrt(variance));
}

// Without gradients: what rounding adds to a model is taken away by merges as fast as it comes.
TEST_P(PushEncoding, ErrorsDoNotAddUp) {
  if (GetParam().encoding == "fp32") return;
  model_.curvature = 0;
  model_.noise = false;
  SimCluster cluster(Scenario());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  const Vector began = Doubles(cluster.worker(0).Weights());
  double largest = 0;
  for (const size_t i : offsets) largest = std::max(largest, std::abs(began[i]));
  const double step = largest * LossOf(GetParam().encoding);
  for (uint64_t first = 0; first < 400; first += 200) {
    ASSERT_TRUE(cluster.RunSteps(first, 200).ok());
    double furthest = 0;
    for (Rank r = 0; r < size(); ++r) {
      const std::vector<float> w = cluster.worker(r).Weights();
      for (const size_t i : offsets) furthest = std::max(furthest, std::abs(w[i] - began[i]));
    }
    EXPECT_LT(furthest, 4 * step) << "after " << first + 200 << " steps";
  }
}

INSTANTIATE_TEST_SUITE_P(All, PushEncoding, testing::ValuesIn(Cases()), [](const auto& param) {
  const Case& c = param.param;
  return Plain(absl::StrCat(c.encoding, "_", c.method, "_p", c.size));
});

}  // namespace
}  // namespace gg
