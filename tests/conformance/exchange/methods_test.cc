// SPDX-License-Identifier: Apache-2.0
// What every algorithm must fulfil, for 1 .. 9 workers on threads: its rule, against a dense oracle
// in double precision that knows neither units nor messages; and what holds of all of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/dense_cluster.h"
#include "tests/support/sim_threads.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 13;
using Vectors = DenseCluster::Vectors;

struct Method {
  std::string name;  // of the test
  ExchangeSpec spec;
  std::function<void(DenseCluster&, uint64_t step)> step;
  bool equal_replicas = false;       // after every step
  std::vector<double> weights = {};  // SimModel::weights
  bool nesterov = false;
  std::vector<int> sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9};
};

ExchangeSpec SpecOf(const std::string& algorithm) {
  ExchangeSpec spec = SimSpec("weights-momentum", "layerwise");
  spec.algorithm = algorithm;
  return spec;
}

ExchangeSpec SpecOfWeights(const std::string& algorithm) {
  ExchangeSpec spec = SpecOf(algorithm);
  spec.payload = "weights";
  return spec;
}

void AllReduceStep(DenseCluster& d, uint64_t step) {
  d.Update(d.Mean(d.Gradients(step)), step);
}

std::function<void(DenseCluster&, uint64_t)> AveragedEvery(uint64_t period, bool momentum_too,
                                                           uint64_t together_until = 0) {
  return [=](DenseCluster& d, uint64_t step) {
    d.Update(d.Gradients(step), step);
    if (step >= together_until && (step + 1) % period != 0) return;
    d.w = d.Mean(d.w);
    if (momentum_too) d.v = d.Mean(d.v);
  };
}

// Both neighbours of the ring, whose models are those that the gradients were computed at.
void DPsgdStep(DenseCluster& d, uint64_t step) {
  const Vectors before = d.w;
  d.Update(d.Gradients(step), step);
  const int p = d.size();
  for (Rank r = 0; r < p && p > 1; ++r) {
    for (size_t k = 0; k < d.w[r].size(); ++k) {
      const double next = before[(r + 1) % p][k] - before[r][k];
      const double previous = before[(r + p - 1) % p][k] - before[r][k];
      d.w[r][k] += p == 2 ? next / 2 : next / 3 + previous / 3;
    }
  }
}

// Half of each model goes to the partner; every worker gets one half, so that all weights stay 1.
void SgpStep(DenseCluster& d, uint64_t step) {
  d.Update(d.Gradients(step), step);
  if (d.size() == 1) return;
  const auto schedule =
      MakeSchedule("dissemination", {.size = d.size(), .seed = SimModel().seed, .rotate = true})
          .value();
  const Vectors pushed = d.w;
  for (Rank r = 0; r < d.size(); ++r) {
    const Rank from = schedule->At(r, step).recv_from;
    for (size_t k = 0; k < d.w[r].size(); ++k) d.w[r][k] = (d.w[r][k] + pushed[from][k]) / 2;
  }
}

std::vector<Method> Methods() {
  std::vector<Method> methods;
  for (const char* collective : {"auto", "ring", "halving-doubling", "recursive-doubling"}) {
    for (const char* algorithm : {"allreduce", "allreduce-layerwise"}) {
      Method& m = methods.emplace_back(Method{std::string(algorithm) + "_" + collective,
                                              SpecOf(algorithm), AllReduceStep, true});
      m.spec.collective = collective;
    }
  }
  for (const char* collective : {"auto", "ring"}) {
    Method& m = methods.emplace_back(Method{std::string("reduce_scatter_") + collective,
                                            SpecOf("reduce-scatter"), AllReduceStep, true});
    m.spec.collective = collective;
  }
  // Halving and doubling has a reduce-scatter for powers of two.
  Method& halving = methods.emplace_back(
      Method{"reduce_scatter_halving_doubling", SpecOf("reduce-scatter"), AllReduceStep, true});
  halving.spec.collective = "halving-doubling";
  halving.sizes = {1, 2, 4, 8};
  methods.push_back({"d_psgd", SpecOfWeights("d-psgd"), DPsgdStep});
  for (const char* overlap : {"none", "layerwise"}) {
    Method& m =
        methods.emplace_back(Method{std::string("sgp_") + overlap, SpecOfWeights("sgp"), SgpStep});
    m.spec.overlap = overlap;
  }
  methods.push_back({"nesterov_allreduce", SpecOf("allreduce-layerwise"), AllReduceStep, true});
  methods.push_back({"nesterov_reduce_scatter", SpecOf("reduce-scatter"), AllReduceStep, true});
  methods.push_back({"nesterov_d_psgd", SpecOfWeights("d-psgd"), DPsgdStep});
  methods.push_back({"nesterov_sgp", SpecOfWeights("sgp"), SgpStep});
  for (Method& m : methods) m.nesterov = m.name.rfind("nesterov", 0) == 0;
  methods.push_back(
      {"periodic_average", SpecOf("periodic-average"), [](DenseCluster& d, uint64_t step) {
         const auto log2 = std::bit_width(static_cast<unsigned>(d.size() - 1));
         AveragedEvery(std::max(1, static_cast<int>(log2)), true)(d, step);
       }});
  methods.push_back({"periodic_average_5", SpecOf("periodic-average"), AveragedEvery(5, true)});
  methods.back().spec.period = 5;
  methods.push_back({"local_sgd", SpecOf("local-sgd"), AveragedEvery(8, true)});
  methods.push_back({"local_sgd_weights", SpecOf("local-sgd"), AveragedEvery(3, false)});
  methods.back().spec.period = 3;
  methods.back().spec.payload = "weights";
  methods.push_back({"post_local_sgd", SpecOf("local-sgd"), AveragedEvery(4, true, 6)});
  methods.back().spec.period = 4;
  methods.back().spec.local_from_epoch = 1.5;  // of 4 steps
  for (const int64_t period : {1, 5}) {
    // The starts of the period before, averaged, and what was done since on top.
    auto starts = std::make_shared<Vectors>();
    methods.push_back({"cocod_" + std::to_string(period), SpecOf("cocod"),
                       [starts, period](DenseCluster& d, uint64_t step) {
                         if (step == 0) starts->clear();
                         if (step % period == 0) {
                           if (!starts->empty()) {
                             const Vectors mean = d.Mean(*starts);
                             for (Rank r = 0; r < d.size(); ++r) {
                               for (size_t k = 0; k < d.w[r].size(); ++k) {
                                 d.w[r][k] += mean[r][k] - (*starts)[r][k];
                               }
                             }
                           }
                           *starts = d.w;
                         }
                         d.Update(d.Gradients(step), step);
                       }});
    methods.back().spec.period = period;
    methods.push_back(methods.back());
    methods.back().name += "_unequal_batches";
    methods.back().weights = {96, 40, 7, 64};
  }
  methods.push_back({"none", SpecOf("none"),
                     [](DenseCluster& d, uint64_t step) { d.Update(d.Gradients(step), step); }});
  for (Method& method : methods) {
    for (char& c : method.name) c = c == '-' ? '_' : c;
  }
  return methods;
}

struct Case {
  Method method;
  int size;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Method& method : Methods()) {
    for (const int size : method.sizes) cases.push_back({method, size});
  }
  return cases;
}

class ExchangeMethods : public testing::TestWithParam<Case> {
 protected:
  const Method& method() const { return GetParam().method; }
  int size() const { return GetParam().size; }
  SimModel Model() const {
    SimModel model;
    model.weights = method().weights;
    model.nesterov = method().nesterov;
    return model;
  }
  double Share(Rank r) const { return model_.Weight(r, size()) / size(); }
  SimModel model_ = Model();
};

TEST_P(ExchangeMethods, FollowsTheDenseOracle) {
  ThreadCluster cluster(model_, method().spec, size());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  DenseCluster oracle(model_, size(), offsets);
  for (uint64_t step = 0; step < kSteps; ++step) {
    cluster.Train(step, 1);
    method().step(oracle, step);
    for (Rank r = 0; r < size(); ++r) {
      const std::vector<float> actual = cluster.worker(r).Weights();
      for (size_t k = 0; k < offsets.size(); ++k) {
        ASSERT_NEAR(actual[offsets[k]], oracle.w[r][k], 4e-6)
            << "step " << step << " rank " << r << " parameter " << k;
      }
    }
  }
}

TEST_P(ExchangeMethods, SettleChangesNothingButWhen) {
  ThreadCluster often(model_, method().spec, size()), once(model_, method().spec, size());
  for (uint64_t step = 0; step < kSteps; ++step) often.Train(step, 1);
  once.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(often.worker(r).Weights(), once.worker(r).Weights());
    EXPECT_EQ(often.worker(r).Momentum(), once.worker(r).Momentum());
  }
}

TEST_P(ExchangeMethods, SameSeedGivesTheSameBitsTwice) {
  ThreadCluster first(model_, method().spec, size()), second(model_, method().spec, size());
  first.Train(0, kSteps);
  second.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(first.worker(r).Weights(), second.worker(r).Weights());
    EXPECT_EQ(first.worker(r).Momentum(), second.worker(r).Momentum());
    if (method().equal_replicas) {
      EXPECT_EQ(first.worker(r).Weights(), first.worker(0).Weights());
    }
  }
}

TEST_P(ExchangeMethods, AloneItIsPlainSgdBitForBit) {
  if (size() != 1) return;
  ThreadCluster one(model_, method().spec, 1), plain(model_, SpecOf("none"), 1);
  one.Train(0, kSteps);
  plain.Train(0, kSteps);
  EXPECT_EQ(one.worker(0).Weights(), plain.worker(0).Weights());
}

TEST_P(ExchangeMethods, KeepsTheMeanOfTheModels) {
  model_.curvature = 0;  // gradients do not depend on the weights
  ThreadCluster cluster(model_, method().spec, size());
  cluster.Train(0, kSteps);
  for (const size_t i : cluster.worker(0).ParameterOffsets()) {
    const double expected = model_.MeanAfter(kSteps, size(), i);
    double actual = 0;
    for (Rank r = 0; r < size(); ++r) actual += double{cluster.worker(r).Weights()[i]} * Share(r);
    ASSERT_NEAR(actual, expected, 4e-6);
  }
}

TEST_P(ExchangeMethods, EndsInTheSameModelEverywhere) {
  ThreadCluster cluster(model_, method().spec, size());
  cluster.Train(0, kSteps);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  std::vector<double> mean(offsets.size());
  for (Rank r = 0; r < size(); ++r) {
    for (size_t k = 0; k < offsets.size(); ++k)
      mean[k] += Share(r) * cluster.worker(r).Weights()[offsets[k]];
  }
  cluster.Run([&](Rank r) {
    const auto distance = cluster.worker(r).exchange().AverageReplicas(absl::InfiniteFuture());
    ASSERT_TRUE(distance.ok()) << distance.status();
  });
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
    EXPECT_EQ(cluster.worker(r).Momentum(), cluster.worker(0).Momentum());
  }
  // What cocod has under way changes the models, not their mean.
  for (size_t k = 0; k < offsets.size(); ++k)
    ASSERT_NEAR(cluster.worker(0).Weights()[offsets[k]], mean[k], 4e-6);
}

INSTANTIATE_TEST_SUITE_P(All, ExchangeMethods, testing::ValuesIn(Cases()), [](const auto& param) {
  return param.param.method.name + "_p" + std::to_string(param.param.size);
});

}  // namespace
}  // namespace gg
