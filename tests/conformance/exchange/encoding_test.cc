// SPDX-License-Identifier: Apache-2.0
// Every encoding in gossip-grad, for all payloads and overlaps, against a dense oracle in double precision that rounds where the
// method's sheet says so. The oracle begins each step with the models that the workers have, so that one step is
// compared at a time: apart from float arithmetic only a value at the very border between two roundings may differ,
// and the oracle knows which ones those are.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/encoding_bounds.h"
#include "tests/support/sim_threads.h"
#include "worker/exchange/units.h"
#include "worker/wire/float_link.h"

namespace gg {
namespace {

constexpr uint64_t kSteps = 9;
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
    const double expected = model_.MeanAfter(kSteps, size(), i);
    double actual = 0;
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

}  // namespace
}  // namespace gg
