// SPDX-License-Identifier: Apache-2.0
// Methods with an optimizer that has two state vectors (Adam's moments): each follows its rule,
// says what happens to both, and closes with an average of all of a replica; and with one that has
// none.
#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/dense_cluster.h"
#include "tests/support/sim_threads.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 11;
using Vectors = DenseCluster::Vectors;

struct Method {
  std::string algorithm;
  std::string payload;
  std::function<void(DenseCluster&, uint64_t step)> step;
  std::string name() const {
    std::string name = algorithm + "_" + payload;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
};

ExchangeSpec SpecOf(const Method& method) {
  ExchangeSpec spec = SimSpec(method.payload, "layerwise");
  spec.algorithm = method.algorithm;
  return spec;
}

// v: first moments, s: second moments.
std::vector<Method> Methods() {
  const auto mean_gradient = [](DenseCluster& d, uint64_t step) {
    d.Update(d.Mean(d.Gradients(step)), step);
  };
  const auto partner = [](const DenseCluster& d, Rank r, uint64_t step) {
    return MakeSchedule("dissemination",
                        {.size = d.size(), .seed = SimModel().seed, .rotate = true})
        .value()
        ->At(r, step)
        .recv_from;
  };
  // Half of the partner's, for those that are there.
  const auto gossip = [partner](DenseCluster& d, Vectors& values, uint64_t step) {
    const Vectors sent = values;
    for (Rank r = 0; r < d.size() && d.size() > 1; ++r) {
      const Rank from = partner(d, r, step);
      for (size_t k = 0; k < sent[r].size(); ++k) values[r][k] = (sent[r][k] + sent[from][k]) / 2;
    }
  };
  return {
      {"none", "weights",
       [](DenseCluster& d, uint64_t step) { d.Update(d.Gradients(step), step); }},
      {"allreduce", "weights", mean_gradient},
      {"allreduce-layerwise", "weights", mean_gradient},
      {"reduce-scatter", "weights", mean_gradient},
      {"periodic-average", "weights",
       [](DenseCluster& d, uint64_t step) {
         d.Update(d.Gradients(step), step);
         const int log2 = std::bit_width(static_cast<unsigned>(d.size() - 1));
         if ((step + 1) % static_cast<uint64_t>(std::max(1, log2)) != 0) return;
         d.w = d.Mean(d.w);
         d.v = d.Mean(d.v);
         d.s = d.Mean(d.s);
       }},
      {"local-sgd", "weights-momentum",
       [](DenseCluster& d, uint64_t step) {
         d.Update(d.Gradients(step), step);
         if ((step + 1) % 8 != 0) return;
         d.w = d.Mean(d.w);
         d.v = d.Mean(d.v);
       }},
      {"d-psgd", "weights",
       [](DenseCluster& d, uint64_t step) {
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
       }},
      {"sgp", "weights",
       [gossip](DenseCluster& d, uint64_t step) {
         d.Update(d.Gradients(step), step);
         gossip(d, d.w, step);
       }},
      {"gossip-grad", "weights",
       [gossip](DenseCluster& d, uint64_t step) {
         d.Update(d.Gradients(step), step);
         gossip(d, d.w, step);
       }},
      {"gossip-grad", "weights-momentum",
       [gossip](DenseCluster& d, uint64_t step) {
         d.Update(d.Gradients(step), step);
         gossip(d, d.w, step);
         gossip(d, d.v, step);
       }},
      // The update waits for the partner until the next step, and is the one of its own step all
      // the same.
      {"gossip-grad", "gradients",
       [gossip](DenseCluster& d, uint64_t step) {
         Vectors g = d.Gradients(step);
         gossip(d, g, step);
         d.Update(g, step);
       }},
  };
}

struct Case {
  Method method;
  int size;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Method& method : Methods()) {
    for (const int size : {1, 2, 3, 4, 5}) cases.push_back({method, size});
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Case>& param) {
  return param.param.method.name() + "_p" + std::to_string(param.param.size);
}

class TwoStateVectors : public testing::TestWithParam<Case> {
 protected:
  const Method& method() const { return GetParam().method; }
  int size() const { return GetParam().size; }
  static SimModel Model() {
    SimModel model;
    model.adam = true;
    model.buffer_floats = 3;
    return model;
  }
  static std::vector<float> State(SimWorker& worker, int i) {
    return SimWorker::Values(worker.arena().state(i));
  }
  const SimModel model_ = Model();
};

TEST_P(TwoStateVectors, FollowTheDenseOracle) {
  ThreadCluster cluster(model_, SpecOf(method()), size());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  DenseCluster oracle(model_, size(), offsets);
  for (uint64_t step = 0; step < kSteps; ++step) {
    cluster.Train(step, 1);
    method().step(oracle, step);
    for (Rank r = 0; r < size(); ++r) {
      for (size_t k = 0; k < offsets.size(); ++k) {
        ASSERT_NEAR(cluster.worker(r).arena().weights()[offsets[k]], oracle.w[r][k], 1e-5)
            << "step " << step << " rank " << r << " parameter " << k;
        if (method().algorithm == "reduce-scatter") continue;  // state lies with its owner
        ASSERT_NEAR(cluster.worker(r).arena().state(0)[offsets[k]], oracle.v[r][k], 1e-5);
        ASSERT_NEAR(cluster.worker(r).arena().state(1)[offsets[k]], oracle.s[r][k], 1e-5);
      }
    }
  }
}

TEST_P(TwoStateVectors, AreBothInTheClosingAverage) {
  ThreadCluster cluster(model_, SpecOf(method()), size());
  cluster.Train(0, kSteps);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  DenseCluster oracle(model_, size(), offsets);
  for (uint64_t step = 0; step < kSteps; ++step) method().step(oracle, step);
  for (const int rounds : {1, 2}) {  // once more changes nothing
    cluster.Run([&](Rank r) {
      const auto distance = cluster.worker(r).exchange().AverageReplicas(absl::InfiniteFuture());
      ASSERT_TRUE(distance.ok()) << distance.status();
    });
    const Vectors first = oracle.Mean(oracle.v), second = oracle.Mean(oracle.s);
    for (Rank r = 0; r < size(); ++r) {
      EXPECT_EQ(State(cluster.worker(r), 0), State(cluster.worker(0), 0)) << rounds;
      EXPECT_EQ(State(cluster.worker(r), 1), State(cluster.worker(0), 1)) << rounds;
      for (size_t k = 0; k < offsets.size(); ++k) {
        ASSERT_NEAR(cluster.worker(r).arena().state(0)[offsets[k]], first[r][k], 1e-5);
        ASSERT_NEAR(cluster.worker(r).arena().state(1)[offsets[k]], second[r][k], 1e-5);
      }
    }
  }
}

TEST_P(TwoStateVectors, SameSeedGivesTheSameBitsTwice) {
  ThreadCluster first(model_, SpecOf(method()), size()), second(model_, SpecOf(method()), size());
  first.Train(0, kSteps);
  second.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(first.worker(r).Weights(), second.worker(r).Weights());
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(State(first.worker(r), i), State(second.worker(r), i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TwoStateVectors, testing::ValuesIn(Cases()), CaseName);

TEST(StateVectors, AloneEveryMethodIsThePlainOptimizer) {
  SimModel model;
  model.adam = true;
  const std::vector<Method> methods = Methods();
  ThreadCluster plain(model, SpecOf(methods[0]), 1);
  plain.Train(0, kSteps);
  for (const Method& method : methods) {
    ThreadCluster one(model, SpecOf(method), 1);
    one.Train(0, kSteps);
    EXPECT_EQ(one.worker(0).Weights(), plain.worker(0).Weights()) << method.name();
  }
}

TEST(StateVectors, PeriodicAverageDoesNotRoundSecondMoments) {
  SimModel model;
  model.adam = true;
  ThreadCluster cluster(model, SimSpec("weights", "none"), 2);
  ExchangeContext context;
  context.spec = SimSpec("weights", "none");
  context.spec.algorithm = "periodic-average";
  context.spec.encoding = "int8";
  context.device = nullptr;
  context.arena = &cluster.worker(0).arena();
  context.group = &cluster.group(0);
  context.size = 2;
  const absl::Status status = MakeExchange(std::move(context)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find("second moments"), absl::string_view::npos) << status;
}

TEST(StateVectors, MomentumThatIsNotThereIsLeftOutOfWhatTravels) {
  SimModel model;
  model.momentum = 0;
  for (const int size : {2, 3}) {
    ThreadCluster with(model, SimSpec("weights-momentum", "none"), size),
        without(model, SimSpec("weights", "none"), size);
    with.Train(0, kSteps);
    without.Train(0, kSteps);
    for (Rank r = 0; r < size; ++r) {
      EXPECT_EQ(with.worker(r).Weights(), without.worker(r).Weights());
      EXPECT_EQ(with.worker(r).arena().state_count(), 0);
      EXPECT_EQ(with.stats(r).bytes_sent, without.stats(r).bytes_sent);
      EXPECT_EQ(with.stats(r).messages_sent, without.stats(r).messages_sent);
    }
  }
}

}  // namespace
}  // namespace gg
