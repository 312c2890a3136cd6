// SPDX-License-Identifier: Apache-2.0
// The methods in which nobody waits, against dense oracles in double precision for 1 .. 9 workers.
// On the virtual network with steps in time with each other and messages that take a fraction of a
// step, what is sent after one step is there when the next begins, and the order of all events is
// known. On real threads: what holds whatever the order is.
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "gtest/gtest.h"
#include "tests/support/dense_cluster.h"
#include "tests/support/sim_cluster.h"
#include "tests/support/sim_threads.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 13;
using Vectors = DenseCluster::Vectors;

// One rule: what happens when a step begins, and after its update.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual void Begin(DenseCluster& d) = 0;
  virtual void End(DenseCluster& d, uint64_t step) = 0;
  virtual std::vector<double> Final(const DenseCluster& d) { return d.Mean(d.w)[0]; }
};

Rank Draw(Rng& rng, Rank self, int size) {
  const Rank other = static_cast<Rank>(rng.Below(size - 1));
  return other < self ? other : other + 1;
}

class GoSgdRule final : public Rule {
 public:
  GoSgdRule(double probability, uint64_t seed, int size)
      : probability_(probability), seed_(seed), a_(size, 1.0 / size) {}

  void Begin(DenseCluster& d) override {
    for (const Push& push : under_way_) {
      double& a = a_[push.to];
      auto& x = d.w[push.to];
      for (size_t k = 0; k < x.size(); ++k) {
        x[k] = (a * x[k] + push.weight * push.model[k]) / (a + push.weight);
      }
      a += push.weight;
    }
    under_way_.clear();
  }
  void End(DenseCluster& d, uint64_t step) override {
    for (Rank r = 0; r < d.size(); ++r) {
      Rng rng(seed_, absl::StrCat("gosgd/", r), step);
      if (rng.Uniform() >= probability_) continue;
      const Rank to = Draw(rng, r, d.size());
      a_[r] /= 2;
      under_way_.push_back({to, a_[r], d.w[r]});
    }
  }
  std::vector<double> Final(const DenseCluster& d) override {
    DenseCluster ended = d;
    Begin(ended);
    std::vector<double> mean(d.w[0].size());
    double sum = 0;
    for (Rank r = 0; r < d.size(); ++r) {
      sum += a_[r];
      for (size_t k = 0; k < mean.size(); ++k) mean[k] += a_[r] * ended.w[r][k];
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    return mean;
  }

 private:
  struct Push {
    Rank to;
    double weight;
    std::vector<double> model;
  };
  const double probability_;
  const uint64_t seed_;
  std::vector<double> a_;
  std::vector<Push> under_way_;
};

class AdPsgdRule final : public Rule {
 public:
  AdPsgdRule(uint64_t seed, int size) : seed_(seed), asked_(size, -1), answers_(size) {}

  void Begin(DenseCluster& d) override {
    for (Rank i = 0; i < d.size(); ++i) {
      for (size_t k = 0; k < answers_[i].size(); ++k) d.w[i][k] -= answers_[i][k];
      if (answered_) asked_[i] = -1;
      answers_[i].clear();
    }
    answered_ = false;
    if (snapshots_.empty()) return;
    for (Rank i = 0; i < d.size(); ++i) {
      const Rank j = asked_[i];
      if (asked_[j] == i && j < i) continue;  // i is asked by j, and answers
      for (size_t k = 0; k < d.w[j].size(); ++k) {
        answers_[i].push_back((snapshots_[i][k] - d.w[j][k]) / 2);
        d.w[j][k] += answers_[i][k];
      }
    }
    snapshots_.clear();
    answered_ = true;
  }
  void End(DenseCluster& d, uint64_t step) override {
    if (answered_) return;  // a request is open
    snapshots_ = d.w;
    for (Rank i = 0; i < d.size(); ++i) {
      Rng rng(seed_, absl::StrCat("ad-psgd/", i), step);
      asked_[i] = Draw(rng, i, d.size());
    }
  }

 private:
  const uint64_t seed_;
  std::vector<Rank> asked_;
  Vectors snapshots_, answers_;
  bool answered_ = false;
};

// The centre's strips are those of the arena, padding included.
class AsyncEasgdRule final : public Rule {
 public:
  AsyncEasgdRule(uint64_t period, double beta, const DenseCluster& d, std::vector<Rank> owners)
      : period_(period), alpha_(beta / d.size()), centre_(d.w[0]), owners_(std::move(owners)) {}

  void Begin(DenseCluster& d) override {
    for (Rank i = 0; i < static_cast<Rank>(pulls_.size()); ++i) {
      for (size_t k = 0; k < centre_.size(); ++k) d.w[i][k] -= pulls_[i][k];
    }
    pulls_.clear();
    if (asked_.empty()) return;
    pulls_.assign(asked_.size(), std::vector<double>(centre_.size()));
    for (Rank i = 0; i < d.size(); ++i) {
      for (size_t k = 0; k < centre_.size(); ++k) {
        if (owners_[k] == i) continue;
        pulls_[i][k] = alpha_ * (asked_[i][k] - centre_[k]);
        centre_[k] += pulls_[i][k];
      }
    }
    asked_.clear();
  }
  void End(DenseCluster& d, uint64_t step) override {
    if ((step + 1) % period_ != 0) return;
    for (Rank i = 0; i < d.size(); ++i) {
      for (size_t k = 0; k < centre_.size(); ++k) {
        if (owners_[k] != i) continue;
        const double pull = alpha_ * (d.w[i][k] - centre_[k]);
        centre_[k] += pull;
        d.w[i][k] -= pull;
      }
    }
    asked_ = d.w;
  }
  std::vector<double> Final(const DenseCluster& d) override {
    DenseCluster ended = d;
    Begin(ended);
    return centre_;
  }

 private:
  const uint64_t period_;
  const double alpha_;
  std::vector<double> centre_;
  const std::vector<Rank> owners_;  // of each parameter
  Vectors asked_, pulls_;
};

class SyncEasgdRule final : public Rule {
 public:
  SyncEasgdRule(uint64_t period, double beta, const DenseCluster& d)
      : period_(period), beta_(beta), centre_(d.w[0]) {}
  void Begin(DenseCluster& /*d*/) override {}
  void End(DenseCluster& d, uint64_t step) override {
    if ((step + 1) % period_ != 0) return;
    const std::vector<double> mean = d.Mean(d.w)[0];
    for (size_t k = 0; k < centre_.size(); ++k) {
      for (auto& w : d.w) w[k] -= beta_ / d.size() * (w[k] - centre_[k]);
      centre_[k] += beta_ * (mean[k] - centre_[k]);
    }
  }
  std::vector<double> Final(const DenseCluster& /*d*/) override { return centre_; }

 private:
  const uint64_t period_;
  const double beta_;
  std::vector<double> centre_;
};

struct Method {
  std::string name;
  ExchangeSpec spec;
  bool nesterov = false;
};

Method MethodOf(const std::string& name, const std::string& algorithm) {
  Method method{name, SimSpec("weights", "layerwise")};
  method.spec.algorithm = algorithm;
  return method;
}

std::vector<Method> Methods() {
  std::vector<Method> methods;
  methods.push_back(MethodOf("gosgd_rare", "gosgd"));
  methods.back().spec.push_probability = 0.3;
  methods.push_back(MethodOf("gosgd_always", "gosgd"));
  methods.back().spec.push_probability = 1;
  methods.push_back(MethodOf("ad_psgd", "ad-psgd"));
  for (const int64_t period : {2, 5}) {
    methods.push_back(MethodOf(absl::StrCat("easgd_async_", period), "easgd"));
    methods.back().spec.period = period;
  }
  methods.push_back(MethodOf("easgd_sync", "easgd"));
  methods.back().spec.period = 3;
  methods.back().spec.elastic_beta = 0.6;
  methods.back().spec.asynchronous = false;
  for (const bool asynchronous : {true, false}) {
    methods.push_back(MethodOf(asynchronous ? "eamsgd_async" : "eamsgd_sync", "easgd"));
    methods.back().spec.period = 2;
    methods.back().spec.asynchronous = asynchronous;
    methods.back().nesterov = true;
  }
  return methods;
}

struct Case {
  Method method;
  int size;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.method.name << " with " << c.size << " workers";
}

std::vector<Case> Cases(int first) {
  std::vector<Case> cases;
  for (const Method& method : Methods()) {
    for (int size = first; size <= 9; ++size) cases.push_back({method, size});
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return absl::StrCat(info.param.method.name, "_p", info.param.size);
}

class AsyncMethods : public testing::TestWithParam<Case> {
 protected:
  AsyncMethods() { model_.nesterov = GetParam().method.nesterov; }
  const ExchangeSpec& spec() const { return GetParam().method.spec; }
  int size() const { return GetParam().size; }

  std::unique_ptr<Rule> RuleOf(const DenseCluster& d, const std::vector<size_t>& offsets,
                               size_t floats) const {
    const auto period = static_cast<uint64_t>(spec().period);
    if (spec().algorithm == "gosgd") {
      return std::make_unique<GoSgdRule>(spec().push_probability, model_.seed, size());
    }
    if (spec().algorithm == "ad-psgd") return std::make_unique<AdPsgdRule>(model_.seed, size());
    if (!spec().asynchronous) {
      return std::make_unique<SyncEasgdRule>(period, spec().elastic_beta, d);
    }
    std::vector<Rank> owners;
    for (const size_t i : offsets) {
      // As equal as can be, the first floats % size() of them one longer.
      const size_t n = floats / size(), longer = floats % size();
      const size_t in_longer = longer * (n + 1);
      owners.push_back(
          static_cast<Rank>(i < in_longer ? i / (n + 1) : longer + (i - in_longer) / n));
    }
    return std::make_unique<AsyncEasgdRule>(period, spec().elastic_beta, d, owners);
  }

  SimModel model_;
};

class AsyncOracle : public AsyncMethods {
 protected:
  void Close(SimCluster& cluster) {
    std::vector<std::function<void()>> bodies;
    for (Rank r = 0; r < size(); ++r) {
      bodies.push_back([&, r] {
        const auto distance =
            cluster.worker(r).exchange().AverageReplicas(cluster.clock().Now() + absl::Seconds(10));
        EXPECT_TRUE(distance.ok()) << distance.status();
      });
    }
    ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
  }
};

TEST_P(AsyncOracle, EveryStepAndTheEndFollowTheRule) {
  SimScenario scenario;
  scenario.size = size();
  scenario.spec = spec();
  scenario.model = model_;
  SimCluster cluster(scenario);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  DenseCluster oracle(model_, size(), offsets);
  const auto rule = RuleOf(oracle, offsets, cluster.worker(0).arena().size());
  for (uint64_t step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(cluster.RunSteps(step, 1).ok());
    rule->Begin(oracle);
    oracle.Update(oracle.Gradients(step), step);
    rule->End(oracle, step);
    for (Rank r = 0; r < size(); ++r) {
      const std::vector<float> actual = cluster.worker(r).Weights();
      for (size_t k = 0; k < offsets.size(); ++k) {
        ASSERT_NEAR(actual[offsets[k]], oracle.w[r][k], 5e-6)
            << "step " << step << " rank " << r << " parameter " << k;
      }
    }
  }
  const std::vector<double> expected = rule->Final(oracle);
  Close(cluster);
  for (Rank r = 0; r < size(); ++r) {
    const std::vector<float> actual = cluster.worker(r).Weights();
    EXPECT_EQ(actual, cluster.worker(0).Weights());
    for (size_t k = 0; k < offsets.size(); ++k) {
      ASSERT_NEAR(actual[offsets[k]], expected[k], 5e-6) << "parameter " << k;
    }
    EXPECT_TRUE(cluster.worker(r).incidents().empty());
  }
}

TEST_P(AsyncOracle, APeriodicAverageIsExact) {
  SimScenario scenario;
  scenario.size = size();
  scenario.spec = spec();
  scenario.spec.average_every = 5;
  scenario.model = model_;
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.RunSteps(0, 5).ok());
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
    EXPECT_EQ(cluster.worker(r).Momentum(), cluster.worker(0).Momentum());
  }
}

INSTANTIATE_TEST_SUITE_P(All, AsyncOracle, testing::ValuesIn(Cases(2)), CaseName);

TEST_P(AsyncMethods, OnThreadsItEndsInTheSameFiniteModelEverywhere) {
  ThreadCluster cluster(model_, spec(), size());
  cluster.Train(0, 40);
  cluster.Run([&](Rank r) {
    const auto distance =
        cluster.worker(r).exchange().AverageReplicas(RealClock().Now() + absl::Seconds(60));
    ASSERT_TRUE(distance.ok()) << distance.status();
    EXPECT_TRUE(std::isfinite(*distance));
    const auto again =
        cluster.worker(r).exchange().AverageReplicas(RealClock().Now() + absl::Seconds(60));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_NEAR(*again, 0, 1e-5);
  });
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
    EXPECT_EQ(cluster.worker(r).Momentum(), cluster.worker(0).Momentum());
  }
}

TEST_P(AsyncMethods, AloneItIsPlainSgdBitForBit) {
  if (size() != 1) return;
  ExchangeSpec none = spec();
  none.algorithm = "none";
  ThreadCluster one(model_, spec(), 1), plain(model_, none, 1);
  one.Train(0, kSteps);
  plain.Train(0, kSteps);
  EXPECT_EQ(one.worker(0).Weights(), plain.worker(0).Weights());
}

INSTANTIATE_TEST_SUITE_P(All, AsyncMethods, testing::ValuesIn(Cases(1)), CaseName);

}  // namespace
}  // namespace gg
