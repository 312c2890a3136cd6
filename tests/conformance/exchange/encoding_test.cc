// SPDX-License-Identifier: Apache-2.0
// Every encoding in every method that takes it, against a dense oracle in double precision that rounds where the
// method's sheet says so. The oracle begins each step with the models that the workers have, so that one step is
// compared at a time: apart from float arithmetic only a value at the very border between two roundings may differ,
// and the oracle knows which ones those are.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/sim_threads.h"
#include "worker/exchange/units.h"
#include "worker/wire/float_link.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 9;
// Of float against double arithmetic in one step, on values below 4.
constexpr double kFloat = 4e-6;

using Vector = std::vector<double>;   // [arena place]
using Vectors = std::vector<Vector>;  // [rank]

// What one encoding loses of a value at most, as a share of the largest value of its block.
double LossOf(const std::string& encoding) {
  if (encoding == "bf16") return std::exp2(-8);   // half a unit of 8 bits
  if (encoding == "fp16") return std::exp2(-11);  // of 11; what is subnormal lies below kFloat
  return 2.0 / 127;                               // one step
}

// The values that a decoded message may have.
struct Decoded {
  Vector low, high;
};

struct Case {
  std::string encoding;
  std::string payload;
  std::string overlap;
  int size;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      for (const char* encoding : {"bf16", "fp16", "int8", "topk"}) {
        if (std::string(encoding) == "topk" && std::string(payload) != "gradients") continue;
        for (int size = 1; size <= 9; ++size) cases.push_back({encoding, payload, overlap, size});
      }
    }
  }
  return cases;
}

std::string Plain(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

class GossipEncoding : public testing::TestWithParam<Case> {
 protected:
  int size() const { return GetParam().size; }
  bool gradients() const { return GetParam().payload == "gradients"; }
  bool momentum_too() const { return GetParam().payload == "weights-momentum"; }
  bool step_overlap() const { return GetParam().overlap == "step"; }
  ExchangeSpec Spec() const {
    ExchangeSpec spec = SimSpec(GetParam().payload, GetParam().overlap);
    spec.encoding = GetParam().encoding;
    spec.topk_share = 0.1;
    return spec;
  }
  WireFormat Format() const { return *ParseWireFormat(GetParam().encoding, 0.1, model_.seed); }

  // What the partner decodes of rank `r`'s message of `step` with these parts.
  std::vector<Decoded> Sent(ThreadCluster& cluster, Rank r, uint64_t step,
                            const std::vector<Vector>& parts) {
    const auto link = FloatLink::Create(cluster.group(r), Format());
    const UnitPlan plan = PlanUnits(cluster.worker(r).arena(), parts.size(), Spec().bucket_bytes);
    std::vector<Decoded> out(parts.size(), Decoded{parts[0], parts[0]});
    for (size_t u = 0; u < plan.units.size(); ++u) {
      const ExchangeUnit& unit = plan.units[u];
      for (const double shift : {0.0, -kFloat, kFloat}) {
        std::vector<float> message;
        for (const Vector& part : parts) {
          for (size_t i = unit.offset; i < unit.offset + unit.count; ++i) {
            message.push_back(static_cast<float>(part[i] == 0 ? 0 : part[i] + shift));
          }
        }
        link->Round({Channel::kExchange, step, static_cast<uint32_t>(u)}, absl::MakeSpan(message),
                    FloatLink::Draw::kOwn);
        for (size_t part = 0; part < parts.size(); ++part) {
          for (size_t k = 0; k < unit.count; ++k) {
            const double value = message[part * unit.count + k];
            double& low = out[part].low[unit.offset + k];
            double& high = out[part].high[unit.offset + k];
            low = shift == 0 ? value : std::min(low, value);
            high = shift == 0 ? value : std::max(high, value);
          }
        }
      }
    }
    return out;
  }

  SimModel model_;
};

Vector Doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

TEST_P(GossipEncoding, FollowsTheDenseOracle) {
  ThreadCluster cluster(model_, Spec(), size());
  const auto schedule =
      MakeSchedule("dissemination", {.size = size(), .seed = model_.seed, .rotate = true}).value();
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  const size_t floats = cluster.worker(0).arena().size();
  Vectors rest(size(), Vector(floats));         // topk: what has not been sent yet
  std::vector<std::vector<Decoded>> yesterday;  // gradients with overlap step
  for (uint64_t step = 0; step < kSteps; ++step) {
    Vectors w, v, g(size(), Vector(floats));
    for (Rank r = 0; r < size(); ++r) {
      w.push_back(Doubles(cluster.worker(r).Weights()));
      v.push_back(Doubles(cluster.worker(r).Momentum()));
      for (const size_t i : offsets) {
        g[r][i] = model_.curvature * (w[r][i] - model_.Target(r, i)) + model_.Noise(r, step, i);
      }
    }
    const auto send = [&] {
      std::vector<std::vector<Decoded>> sent(size());
      for (Rank r = 0; r < size() && size() > 1; ++r) {
        std::vector<Vector> parts = {gradients() ? g[r] : w[r]};
        if (momentum_too()) parts.push_back(v[r]);
        for (const size_t i : offsets) parts[0][i] += gradients() ? rest[r][i] : 0;
        sent[r] = Sent(cluster, r, step, parts);
        if (GetParam().encoding != "topk") continue;
        for (const size_t i : offsets) {
          rest[r][i] = parts[0][i] - (sent[r][0].low[i] == 0 ? 0 : parts[0][i]);
        }
      }
      return sent;
    };
    Vectors slack(size(), Vector(floats, kFloat));  // of the weights, by undecided roundings
    const auto mix = [&](Vectors& values, const std::vector<std::vector<Decoded>>& sent,
                         uint64_t round, size_t part, double weight_per_value) {
      if (size() == 1 || sent.empty()) return;
      for (Rank r = 0; r < size(); ++r) {
        const Decoded& ours = sent[r][part];
        const Decoded& theirs = sent[schedule->At(r, round).recv_from][part];
        for (const size_t i : offsets) {
          const double low = theirs.low[i] - ours.high[i], high = theirs.high[i] - ours.low[i];
          values[r][i] += 0.25 * (low + high);
          slack[r][i] += 0.25 * (high - low) * weight_per_value;
        }
      }
    };
    const auto update = [&] {
      for (Rank r = 0; r < size(); ++r) {
        for (const size_t i : offsets) {
          v[r][i] = model_.momentum * v[r][i] + model_.Rate(step) * g[r][i];
          w[r][i] -= v[r][i];
        }
      }
    };
    if (gradients()) {
      const auto sent = send();
      mix(g, step_overlap() ? yesterday : sent, step_overlap() ? step - 1 : step, 0,
          model_.Rate(step));
      yesterday = sent;
      update();
    } else {
      auto sent = step_overlap() ? send() : std::vector<std::vector<Decoded>>();
      update();
      if (!step_overlap()) sent = send();
      mix(w, sent, step, 0, 1);
    }
    cluster.Train(step, 1);
    for (Rank r = 0; r < size(); ++r) {
      const std::vector<float> actual = cluster.worker(r).Weights();
      for (const size_t i : offsets) {
        ASSERT_NEAR(actual[i], w[r][i], slack[r][i])
            << "step " << step << " rank " << r << " place " << i;
      }
    }
  }
}

TEST_P(GossipEncoding, KeepsTheMeanOfTheModels) {
  model_.curvature = 0;  // gradients do not depend on the weights
  ThreadCluster cluster(model_, Spec(), size());
  cluster.Train(0, kSteps);
  for (const size_t i : cluster.worker(0).ParameterOffsets()) {
    double expected = static_cast<float>(model_.Initial(i)), velocity = 0, actual = 0;
    for (uint64_t step = 0; step < kSteps; ++step) {
      double g = 0;
      for (Rank r = 0; r < size(); ++r) g += model_.Noise(r, step, i) / size();
      velocity = model_.momentum * velocity + model_.Rate(step) * g;
      expected -= velocity;
    }
    for (Rank r = 0; r < size(); ++r) actual += double{cluster.worker(r).Weights()[i]} / size();
    ASSERT_NEAR(actual, expected, kFloat);
  }
}

TEST_P(GossipEncoding, SameSeedGivesTheSameBitsTwice) {
  ThreadCluster first(model_, Spec(), size()), second(model_, Spec(), size());
  first.Train(0, kSteps);
  second.Train(0, kSteps);
  for (Rank r = 0; r < size(); ++r) {
    EXPECT_EQ(first.worker(r).Weights(), second.worker(r).Weights());
  }
}

TEST_P(GossipEncoding, BytesAreThoseOnTheWireAndPaddingStaysZero) {
  if (size() == 1) return;
  ThreadCluster cluster(model_, Spec(), size());
  cluster.Train(0, kSteps);
  SimWorker& worker = cluster.worker(0);
  const size_t parts = momentum_too() ? 2 : 1;
  uint64_t bytes = 0;
  for (const ExchangeUnit& unit : PlanUnits(worker.arena(), parts, Spec().bucket_bytes).units) {
    bytes += WireBytes(Format(), unit.count * parts);
  }
  EXPECT_EQ(cluster.stats(0).bytes_sent, bytes * kSteps);
  EXPECT_EQ(worker.metrics().counter(CounterId::kGossipBytes, "sent"), bytes * kSteps);
  EXPECT_EQ(cluster.stats(0).exchanges_skipped, 0u);
  std::vector<bool> used(worker.arena().size());
  for (const size_t i : worker.ParameterOffsets()) used[i] = true;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) {
      EXPECT_EQ(worker.arena().weights()[i], 0.0f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GossipEncoding, testing::ValuesIn(Cases()), [](const auto& param) {
  const Case& c = param.param;
  return Plain(absl::StrCat(c.encoding, "_", c.payload, "_", c.overlap, "_p", c.size));
});

struct CollectiveCase {
  std::string encoding;
  std::string algorithm;
  std::string collective;
  int size;
};

std::vector<CollectiveCase> CollectiveCases(const std::vector<std::string>& algorithms) {
  std::vector<CollectiveCase> cases;
  for (const char* encoding : {"bf16", "fp16", "int8"}) {
    for (const std::string& algorithm : algorithms) {
      for (const char* collective : {"auto", "ring", "halving-doubling", "recursive-doubling"}) {
        for (int size = 1; size <= 9; ++size) {
          cases.push_back({encoding, algorithm, collective, size});
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
    return spec;
  }
  // How far from the true mean the collective's may lie, where no rank's value is larger than
  // `largest`. A partial sum of m of the p values, each divided by p, is rounded with a loss of at
  // most m / p. Ring: m = 1 .. p. Halving: a tree, whose p - 1 edges have m = 1, .., and the end.
  // Doubling: each of log2 p levels has sums that make the whole together. Folding adds a level and
  // the end one more. Whatever is rounded has grown by earlier losses: the factor.
  double Bound(double largest) const {
    const double loss = LossOf(GetParam().encoding);
    const double levels = std::max(size() / 2.0 + 0.5, std::log2(size()) + 1) + 1;
    return loss * levels * largest * std::pow(1 + loss, 2.0 * size());
  }
  SimModel model_;
};

class AllReduceEncoding : public CollectiveEncodingBase {};

TEST_P(AllReduceEncoding, EndsWithTheSameBitsNearTheTrueMean) {
  ThreadCluster cluster(model_, Spec(), size());
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  for (uint64_t step = 0; step < kSteps; ++step) {
    const Vector w = Doubles(cluster.worker(0).Weights()),
                 v = Doubles(cluster.worker(0).Momentum());
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
      ASSERT_EQ(cluster.worker(r).Momentum(), cluster.worker(0).Momentum());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AllReduceEncoding,
                         testing::ValuesIn(CollectiveCases({"allreduce", "allreduce-layerwise"})),
                         CollectiveName);

class ModelEncoding : public CollectiveEncodingBase {};

TEST_P(ModelEncoding, LosesAShareOfWhatThePeriodHasChanged) {
  model_.curvature = 0;  // so that the local steps are known
  ThreadCluster cluster(model_, Spec(), size());
  const bool cocod = GetParam().algorithm == "cocod";
  const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
  Vector last = Doubles(cluster.worker(0).Weights());  // mean
  Vectors starts, before(size(), last);
  for (uint64_t step = 0; step < 3 * kSteps; ++step) {
    cluster.Train(step, 1);
    Vectors w, v;
    for (Rank r = 0; r < size(); ++r) {
      w.push_back(Doubles(cluster.worker(r).Weights()));
      v.push_back(Doubles(cluster.worker(r).Momentum()));
    }
    // cocod: what the step began with; the others: what their own update has made.
    Vectors in(size(), Vector(w[0].size()));
    for (Rank r = 0; r < size(); ++r) {
      for (const size_t i : offsets) in[r][i] = cocod ? w[r][i] + v[r][i] : before[r][i];
    }
    const bool averaged = cocod ? step % 3 == 0 && step > 0 : (step + 1) % 3 == 0;
    if (averaged && size() > 1) {
      for (const size_t i : offsets) {
        double mean = 0, largest = 0, change = 0;
        for (Rank r = 0; r < size(); ++r) mean += (cocod ? starts[r][i] : 0) / size();
        const double found = cocod ? in[0][i] - before[0][i] + starts[0][i] : w[0][i];
        for (Rank r = 0; r < size() && cocod; ++r) {
          ASSERT_NEAR(in[r][i] - before[r][i] + starts[r][i], found, kFloat);
          for (const size_t k : offsets) {
            largest = std::max(largest, std::abs(starts[r][k] - last[k]));
          }
        }
        if (!cocod) {
          for (Rank r = 0; r < size(); ++r) ASSERT_EQ(w[r][i], w[0][i]);
        } else {
          change = std::abs(found - mean);
          ASSERT_LE(change, Bound(largest) + 4 * kFloat) << "step " << step << " place " << i;
        }
        last[i] = found;
      }
    }
    if (cocod && step % 3 == 0) starts = in;
    before = w;
  }
  // Together: the true mean, as if nobody had rounded, and at most a share of 3 steps' way per
  // average away from it.
  double way = 0;
  for (uint64_t step = 0; step < 3 * kSteps; ++step) {
    // |noise| is at most 0.1, and momentum 1/2 doubles it in the end.
    way += 0.2 * model_.Rate(step);
  }
  for (const size_t i : offsets) {
    double expected = static_cast<float>(model_.Initial(i)), velocity = 0, actual = 0;
    for (uint64_t step = 0; step < 3 * kSteps; ++step) {
      double g = 0;
      for (Rank r = 0; r < size(); ++r) g += model_.Noise(r, step, i) / size();
      velocity = model_.momentum * velocity + model_.Rate(step) * g;
      expected -= velocity;
    }
    for (Rank r = 0; r < size(); ++r) actual += double{cluster.worker(r).Weights()[i]} / size();
    // Momentum is averaged as well: the same share of it is carried on, which doubles it.
    EXPECT_NEAR(actual, expected, (size() == 1 ? 0 : 3 * Bound(way)) + 8 * kFloat);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelEncoding,
    testing::ValuesIn(CollectiveCases({"local-sgd", "cocod", "periodic-average"})), CollectiveName);

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

// topk: nothing is lost, only late. With one worker's gradients alone different from zero, half of their sum has to
// arrive at its partner in the end.
TEST(EncodingDrift, WhatTopkLeavesOutIsSentLater) {
  SimModel model;
  model.curvature = 0;
  model.momentum = 0;
  ExchangeSpec spec = SimSpec("gradients", "none");
  spec.encoding = "topk";
  spec.topk_share = 0.1;
  constexpr uint64_t kWalk = 300;
  ThreadCluster cluster(model, spec, 2);
  cluster.Train(0, kWalk);
  double far = 0;
  for (const size_t i : cluster.worker(0).ParameterOffsets()) {
    far = std::max<double>(
        far, std::abs(cluster.worker(0).Weights()[i] - cluster.worker(1).Weights()[i]));
  }
  // Without feedback the two would walk apart in what is never among the largest: by about
  // rate 0.2 / sqrt(6) sqrt(steps). With it they differ by what waits: some 1 / share steps' worth.
  double waiting = 0;
  for (uint64_t step = 0; step < 20; ++step) waiting += model.Rate(0) * 0.2;
  EXPECT_LT(far, waiting);
}

}  // namespace
}  // namespace gg
