// SPDX-License-Identifier: Apache-2.0
// Every encoding in the methods that need all workers: the same bits everywhere, no further from the true mean than
// docs/algorithms/encodings.md derives, and without a drift.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/encoding_bounds.h"
#include "tests/support/sim_threads.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 9;
struct CollectiveCase {
  std::string encoding;
  std::string algorithm;
  std::string collective;
  int size;
};

// Halving has a reduce-scatter for powers of two, doubling has none.
bool Served(const std::string& algorithm, const std::string& collective, int size) {
  if (algorithm != "reduce-scatter" || collective == "auto" || collective == "ring") return true;
  return collective == "halving-doubling" && (size & (size - 1)) == 0;
}

std::vector<CollectiveCase> CollectiveCases(const std::vector<std::string>& algorithms) {
  std::vector<CollectiveCase> cases;
  for (const char* encoding : {"bf16", "fp16", "int8"}) {
    for (const std::string& algorithm : algorithms) {
      for (const char* collective : {"auto", "ring", "halving-doubling", "recursive-doubling"}) {
        for (int size = 1; size <= 9; ++size) {
          if (Served(algorithm, collective, size)) {
            cases.push_back({encoding, algorithm, collective, size});
          }
        }
      }
    }
  }
  return cases;
}

std::string CollectiveName(const testing::TestParamInfo<CollectiveCase>& param) {
  const CollectiveCase& c = param.param;
  return Plain(absl::StrCat(c.encoding, "_", c.algorithm, "_", c.collective, "_p", c.size));
}

class CollectiveEncodingBase : public testing::TestWithParam<CollectiveCase> {
 protected:
  int size() const { return GetParam().size; }
  ExchangeSpec Spec() const {
    ExchangeSpec spec = SimSpec("weights-momentum", "layerwise");
    spec.algorithm = GetParam().algorithm;
    spec.collective = GetParam().collective;
    spec.encoding = GetParam().encoding;
    spec.period = 3;
    if (spec.algorithm == "easgd") {
      spec.payload = "weights";
      spec.asynchronous = false;
    }
    return spec;
  }
  double Bound(double largest) const {
    return CollectiveBound(GetParam().encoding, size(), largest);
  }
  SimModel model_;
};

class AllReduceEncoding : public CollectiveEncodingBase {};

TEST_P(AllReduceEncoding, EndsWithTheSameBitsNearTheTrueMean) {
  // Each strip of the momentum lies with its owner.
  if (GetParam().algorithm == "reduce-scatter") model_.momentum = 0;
  ThreadCluster cluster(model_, Spec(), size());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (uint64_t step = 0; step < kSteps; ++step) {
    const Vector w = Doubles(cluster.worker(0).Weights());
    Vector v = Doubles(cluster.worker(0).Momentum());
    v.resize(w.size());  // none is kept where momentum is 0
    Vector mean(w.size());
    double largest = 0;
    for (Rank r = 0; r < size(); ++r) {
      for (const size_t i : offsets) {
        const double g = model_.curvature * (w[i] - model_.Target(r, i)) + model_.Noise(r, step, i);
        mean[i] += g / size();
        largest = std::max(largest, std::abs(g));
      }
    }
    cluster.Train(step, 1);
    const double bound = size() == 1 ? 0 : model_.Rate(step) * Bound(largest);
    const std::vector<float> actual = cluster.worker(0).Weights();
    for (const size_t i : offsets) {
      const double expected = w[i] - (model_.momentum * v[i] + model_.Rate(step) * mean[i]);
      ASSERT_NEAR(actual[i], expected, bound + kFloat) << "step " << step << " place " << i;
    }
    for (Rank r = 1; r < size(); ++r) {
      ASSERT_EQ(cluster.worker(r).Weights(), actual) << "step " << step << " rank " << r;
      if (GetParam().algorithm == "reduce-scatter") continue;
      ASSERT_EQ(cluster.worker(r).Momentum(), cluster.worker(0).Momentum());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AllReduceEncoding,
                         testing::ValuesIn(CollectiveCases({"allreduce", "allreduce-layerwise",
                                                            "reduce-scatter"})),
                         CollectiveName);

class ModelEncoding : public CollectiveEncodingBase {
 protected:
  struct Models {
    Vectors w, v;
  };
  Models Now(ThreadCluster& cluster) const {
    Models now;
    for (Rank r = 0; r < size(); ++r) {
      now.w.push_back(Doubles(cluster.worker(r).Weights()));
      now.v.push_back(Doubles(cluster.worker(r).Momentum()));
    }
    return now;
  }
  // `found` is the mean of `of`, of which none lies further than `largest` from the mean before.
  void ExpectMean(const Vector& found, const Vectors& of, double largest, uint64_t step) const {
    for (size_t i = 0; i < found.size(); ++i) {
      double mean = 0;
      for (Rank r = 0; r < size(); ++r) mean += of[r][i] / size();
      ASSERT_NEAR(found[i], mean, Bound(largest) + kFloat) << "step " << step << " place " << i;
    }
  }
  static double Furthest(const Vectors& of, const Vector& from) {
    double most = 0;
    for (const Vector& one : of) {
      for (size_t i = 0; i < from.size(); ++i) most = std::max(most, std::abs(one[i] - from[i]));
    }
    return most;
  }
};

TEST_P(ModelEncoding, LosesAShareOfWhatThePeriodHasChanged) {
  if (GetParam().algorithm == "cocod") return;  // see below
  model_.curvature = 0;                         // so that the local steps are known
  ThreadCluster cluster(model_, Spec(), size());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  Models x = Now(cluster);
  Vector last_w = x.w[0], last_v = x.v[0];
  for (uint64_t step = 0; step < 3 * kSteps; ++step) {
    for (Rank r = 0; r < size(); ++r) {
      for (const size_t i : offsets) {
        x.v[r][i] = model_.momentum * x.v[r][i] + model_.Rate(step) * model_.Noise(r, step, i);
        x.w[r][i] -= x.v[r][i];
      }
    }
    cluster.Train(step, 1);
    const Models now = Now(cluster);
    if ((step + 1) % 3 == 0 && size() > 1) {
      // One vector, whose blocks may hold some of both.
      const double largest = std::max(Furthest(x.w, last_w), Furthest(x.v, last_v));
      ExpectMean(now.w[0], x.w, largest, step);
      ExpectMean(now.v[0], x.v, largest, step);
      for (Rank r = 1; r < size(); ++r) {
        ASSERT_EQ(now.w[r], now.w[0]);
        ASSERT_EQ(now.v[r], now.v[0]);
      }
      last_w = now.w[0];
      last_v = now.v[0];
    }
    x = now;
  }
}

TEST_P(ModelEncoding, CocodLosesAShareOfWhatThePeriodHasChanged) {
  if (GetParam().algorithm != "cocod" || size() == 1) return;
  model_.curvature = 0;
  ThreadCluster cluster(model_, Spec(), size());
  Models before = Now(cluster);
  Vector last = before.w[0];
  Vectors starts;
  for (uint64_t step = 0; step < 3 * kSteps; ++step) {
    cluster.Train(step, 1);
    const Models now = Now(cluster);
    if (step % 3 == 0) {
      // What the period began with, after the mean of the one before.
      Vectors begun = now.w, means = now.w;
      for (Rank r = 0; r < size(); ++r) {
        for (size_t i = 0; i < last.size(); ++i) begun[r][i] += now.v[r][i];
      }
      if (!starts.empty()) {
        for (Rank r = 0; r < size(); ++r) {
          for (size_t i = 0; i < last.size(); ++i) {
            means[r][i] = begun[r][i] - before.w[r][i] + starts[r][i];
            ASSERT_NEAR(means[r][i], means[0][i], kFloat) << "all add the same mean";
          }
        }
        ExpectMean(means[0], starts, Furthest(starts, last), step);
        last = means[0];
      }
      starts = begun;
    }
    before = now;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelEncoding,
    testing::ValuesIn(CollectiveCases({"local-sgd", "cocod", "periodic-average"})), CollectiveName);

class ElasticEncoding : public CollectiveEncodingBase {};

// The centre, which the replicas show only at the end of a run.
TEST_P(ElasticEncoding, TheCentreLosesAShareOfItsDistanceToTheReplicas) {
  model_.curvature = 0;  // so that the local steps are known
  const ExchangeSpec spec = Spec();
  const double beta = spec.elastic_beta, alpha = beta / size();
  for (uint64_t periods = 1; periods <= 4; ++periods) {
    ThreadCluster cluster(model_, spec, size());
    const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
    Vector centre = Doubles(cluster.worker(0).Weights());
    Vectors x(size(), centre), v(size(), Vector(centre.size()));
    // How far centre and replicas may lie from the rule's by now.
    double centre_off = 0, replica_off = 0;
    for (uint64_t step = 0; step < 3 * periods; ++step) {
      for (Rank r = 0; r < size(); ++r) {
        for (const size_t i : offsets) {
          v[r][i] = model_.momentum * v[r][i] + model_.Rate(step) * model_.Noise(r, step, i);
          x[r][i] -= v[r][i];
        }
      }
      if ((step + 1) % 3 != 0) continue;
      double largest = 0;
      for (const size_t i : offsets) {
        double mean = 0;
        for (Rank r = 0; r < size(); ++r) {
          mean += x[r][i] / size();
          largest = std::max(largest, std::abs(x[r][i] - centre[i]));
          x[r][i] -= alpha * (x[r][i] - centre[i]);
        }
        centre[i] += beta * (mean - centre[i]);
      }
      const double bound = Bound(largest + centre_off + replica_off) + kFloat;
      const double before = centre_off;
      centre_off = (1 - beta) * centre_off + beta * (replica_off + bound);
      replica_off = (1 - alpha) * replica_off + alpha * before;
    }
    cluster.Train(0, 3 * periods);
    cluster.Run([&](Rank r) {
      const auto distance = cluster.worker(r).exchange().AverageReplicas(absl::InfiniteFuture());
      ASSERT_TRUE(distance.ok()) << distance.status();
    });
    for (Rank r = 0; r < size() && size() > 1; ++r) {
      ASSERT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
      for (const size_t i : offsets) {
        ASSERT_NEAR(cluster.worker(r).Weights()[i], centre[i], centre_off + kFloat)
            << periods << " periods, place " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElasticEncoding, testing::ValuesIn(CollectiveCases({"easgd"})),
                         CollectiveName);

// The losses of int8 have the mean 0: after T steps of plain SGD the mean gradient's add up to a random walk.
TEST(EncodingDrift, TheMeanGradientOfInt8IsUnbiased) {
  SimModel model;
  model.curvature = 0;
  model.momentum = 0;
  constexpr int kSize = 4;
  constexpr uint64_t kWalk = 400;
  ExchangeSpec spec = SimSpec("weights", "layerwise");
  spec.algorithm = "allreduce";
  spec.collective = "ring";
  spec.encoding = "int8";
  ThreadCluster cluster(model, spec, kSize);
  cluster.Train(0, kWalk);
  double rates = 0, total = 0;
  for (uint64_t step = 0; step < kWalk; ++step) rates += model.Rate(step) * model.Rate(step);
  // |noise| <= 0.1; a rounding up or down by a step of m / p 2 0.1 / 127 has a standard deviation of half of it, and
  // the squares of m / p for m = 1 .. p add up to this.
  double squares = 0;
  for (int m = 1; m <= kSize; ++m) squares += std::pow(static_cast<double>(m) / kSize, 2);
  const double sigma = 0.5 * 2 * 0.1 / 127 * std::sqrt(squares * rates);
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (const size_t i : offsets) {
    double expected = static_cast<float>(model.Initial(i));
    for (uint64_t step = 0; step < kWalk; ++step) {
      for (Rank r = 0; r < kSize; ++r) {
        expected -= model.Rate(step) * model.Noise(r, step, i) / kSize;
      }
    }
    const double drift = cluster.worker(0).Weights()[i] - expected;
    EXPECT_LT(std::abs(drift), 5 * sigma + 50 * kFloat) << i;
    total += drift;
  }
  const double count = static_cast<double>(offsets.size());
  EXPECT_LT(std::abs(total) / count, 5 * sigma / std::sqrt(count) + 50 * kFloat);
}

}  // namespace
}  // namespace gg
