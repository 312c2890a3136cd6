// SPDX-License-Identifier: Apache-2.0
// Every encoding in the methods that exchange models with partners whom the step knows beforehand, one step at a time
// and for 1 .. 9 workers on threads: the rule in double precision, but for what rounding may take of each message.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/encoding_bounds.h"
#include "tests/support/sim_threads.h"
#include "worker/exchange/units.h"
#include "worker/wire/encoding.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 9;

struct Case {
  std::string encoding;
  std::string algorithm;
  std::string overlap;
  int size;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* encoding : {"bf16", "fp16", "int8"}) {
    for (int size = 1; size <= 9; ++size) {
      cases.push_back({encoding, "d-psgd", "layerwise", size});
      cases.push_back({encoding, "sgp", "none", size});
      cases.push_back({encoding, "sgp", "layerwise", size});
    }
  }
  return cases;
}

class PartnerEncoding : public testing::TestWithParam<Case> {
 protected:
  int size() const { return GetParam().size; }
  // The model that the step began with is sent, else the one that it ends with.
  bool ring() const { return GetParam().algorithm == "d-psgd"; }
  ExchangeSpec Spec() const {
    ExchangeSpec spec = SimSpec("weights", GetParam().overlap);
    spec.algorithm = GetParam().algorithm;
    spec.encoding = GetParam().encoding;
    return spec;
  }
  // Whose messages a worker gets, each of which counts alike and as much as its own model.
  std::vector<Rank> Senders(Rank rank, uint64_t step) const {
    const int p = size();
    if (p == 1) return {};
    if (ring() && p == 2) return {1 - rank};
    if (ring()) return {(rank + 1) % p, (rank + p - 1) % p};
    const auto schedule =
        MakeSchedule("dissemination", {.size = p, .seed = model_.seed, .rotate = true}).value();
    return {schedule->At(rank, step).recv_from};
  }
  // The runs of the arena that travel as one message.
  std::vector<ExchangeUnit> Messages(SimWorker& worker) const {
    if (ring()) return PlanUnits(worker.arena(), 1, Spec().bucket_bytes).units;
    ExchangeUnit whole{};
    whole.count = worker.arena().size();
    return {whole};
  }
  Vector Losses(SimWorker& worker, const Vector& model) const {
    Vector losses(model.size());
    for (const ExchangeUnit& unit : Messages(worker)) {
      const Vector part = LossesOf(GetParam().encoding, model, unit.offset, unit.count);
      for (size_t k = 0; k < unit.count; ++k) losses[unit.offset + k] = part[k];
    }
    return losses;
  }
  SimModel model_;
};

TEST_P(PartnerEncoding, FollowsTheRuleWithinTheRounding) {
  ThreadCluster cluster(model_, Spec(), size());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (uint64_t step = 0; step < kSteps; ++step) {
    Vectors sent, updated, losses;
    for (Rank r = 0; r < size(); ++r) {
      const Vector w = Doubles(cluster.worker(r).Weights());
      Vector v = Doubles(cluster.worker(r).Momentum()), after = w;
      for (const size_t i : offsets) {
        const double g = model_.curvature * (w[i] - model_.Target(r, i)) + model_.Noise(r, step, i);
        after[i] -= model_.momentum * v[i] + model_.Rate(step) * g;
      }
      updated.push_back(after);
      sent.push_back(ring() ? w : after);
      losses.push_back(Losses(cluster.worker(r), sent[r]));
    }
    cluster.Train(step, 1);
    for (Rank r = 0; r < size(); ++r) {
      const std::vector<Rank> senders = Senders(r, step);
      const double share = 1.0 / static_cast<double>(senders.size() + 1);
      const std::vector<float> actual = cluster.worker(r).Weights();
      for (const size_t i : offsets) {
        double expected = updated[r][i], bound = kFloat;
        for (const Rank from : senders) {
          expected += share * (sent[from][i] - sent[r][i]);
          bound += share * (losses[from][i] + losses[r][i]);
        }
        ASSERT_NEAR(actual[i], expected, bound)
            << "step " << step << " rank " << r << " place " << i;
      }
    }
  }
}

TEST_P(PartnerEncoding, KeepsTheMeanOfTheModels) {
  model_.curvature = 0;  // gradients do not depend on the weights
  ThreadCluster cluster(model_, Spec(), size());
  cluster.Train(0, kSteps);
  for (const size_t i : cluster.worker(0).ParameterOffsets()) {
    const double expected = model_.MeanAfter(kSteps, size(), i);
    double actual = 0;
    for (Rank r = 0; r < size(); ++r) actual += double{cluster.worker(r).Weights()[i]} / size();
    ASSERT_NEAR(actual, expected, kFloat);
  }
}

TEST_P(PartnerEncoding, ReplicasThatAgreeStayAsTheyAre) {
  if (GetParam().encoding == "int8") return;  // each worker draws its own rounding
  model_.curvature = 0;
  model_.noise = false;
  ThreadCluster cluster(model_, Spec(), size());
  const std::vector<float> before = cluster.worker(0).Weights();
  cluster.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    for (const size_t i : cluster.worker(0).ParameterOffsets()) {
      ASSERT_NEAR(cluster.worker(r).Weights()[i], before[i], kFloat);
    }
  }
}

TEST_P(PartnerEncoding, SameSeedGivesTheSameBitsTwice) {
  ThreadCluster first(model_, Spec(), size()), second(model_, Spec(), size());
  first.Train(0, kSteps);
  second.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(first.worker(r).Weights(), second.worker(r).Weights());
  }
}

INSTANTIATE_TEST_SUITE_P(All, PartnerEncoding, testing::ValuesIn(Cases()), [](const auto& param) {
  const Case& c = param.param;
  return Plain(absl::StrCat(c.encoding, "_", c.algorithm, "_", c.overlap, "_p", c.size));
});

}  // namespace
}  // namespace gg
