// SPDX-License-Identifier: Apache-2.0
// The faults of the two earlier implementations of GossipGraD (the authors' Caffe forks in MaTEx,
// and torchdistx), each as a test of what happens here instead. Those that concern the schedule
// alone are in tests/unit/core/schedule.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "core/schedule/schedule.h"
#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "tests/support/sim_oracle.h"

namespace gg {
namespace {

SimScenario Scenario(int size, absl::string_view payload, absl::string_view overlap) {
  SimScenario scenario;
  scenario.size = size;
  scenario.spec.payload = std::string(payload);
  scenario.spec.overlap = std::string(overlap);
  scenario.spec.bucket_bytes = 400;
  scenario.spec.deadline_seconds = 1;
  return scenario;
}

// MaTEx: aborts unless the number of workers is a power of two, even for dissemination.
TEST(MaTEx, DisseminationAcceptsAnySize) {
  for (int size = 2; size <= 11; ++size) {
    SimCluster cluster(Scenario(size, "weights", "layerwise"));
    ASSERT_TRUE(cluster.Run().ok());
    for (Rank r = 0; r < size; ++r) {
      EXPECT_EQ(cluster.stats(r).exchanges_skipped, 0u);
      EXPECT_GT(cluster.stats(r).exchanges_done, 0u) << "an idle worker";
    }
  }
}

// MaTEx: log2 of one worker became -1 and the partner rank 1. torchdistx: an assertion, the others
// wait. Also: one worker must be sequential SGD, bit for bit, and touch no transport (there is none
// here).
TEST(MaTEx, OneWorkerHasNoPartnerAndIsPlainSgdBitForBit) {
  const SimModel model;
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      ExchangeSpec spec;
      spec.payload = payload;
      spec.overlap = overlap;
      spec.average_every = 2;
      SimWorker worker(model, spec, 1, 0, RealClock(), nullptr);
      std::vector<float> w(worker.arena().size()), v(worker.arena().size());
      for (const size_t i : worker.ParameterOffsets()) w[i] = static_cast<float>(model.Initial(i));
      for (uint64_t step = 0; step < 9; ++step) {
        const auto stats = worker.Step(step);
        ASSERT_TRUE(stats.ok()) << stats.status();
        EXPECT_EQ(stats->messages_sent, 0u);
        EXPECT_EQ(stats->exchanges_skipped, 0u);
        for (const size_t i : worker.ParameterOffsets()) {
          const float g = static_cast<float>(model.curvature * (w[i] - model.Target(0, i)) +
                                             model.Noise(0, step, i));
          const float decayed = g + 0.0f * w[i];
          v[i] = static_cast<float>(model.momentum) * v[i] +
                 static_cast<float>(model.Rate(step)) * decayed;
          w[i] -= v[i];
        }
      }
      ASSERT_TRUE(worker.exchange().Settle().ok());
      const auto distance = worker.exchange().AverageReplicas(absl::InfinitePast());
      ASSERT_TRUE(distance.ok());
      EXPECT_EQ(*distance, 0.0);
      EXPECT_EQ(worker.Weights(), w);
      EXPECT_EQ(worker.Momentum(), v);
    }
  }
}

// A group that puts bytes into a receive buffer and never says that they are all there.
class HalfDelivered final : public PeerGroup {
 public:
  HalfDelivered() { view_.members = {{"worker-0", "x"}, {"worker-1", "y"}}; }
  ~HalfDelivered() override {
    for (Done& done : pending_) done(absl::CancelledError("closed"));
  }
  const View& view() const override { return view_; }
  Rank self() const override { return 0; }
  void Send(Rank, Tag, ConstBytes, Done done) override { pending_.push_back(std::move(done)); }
  void Recv(Rank, Tag, Bytes into, Done done) override {
    for (size_t i = 0; i < into.size() / 2; ++i) into[i] = 0x41;
    pending_.push_back(std::move(done));
  }
  void CancelRecv(Rank, Tag) override {}
  void Expire(Channel, uint64_t) override {}
  PeerStats stats() const override { return {}; }
  std::string DescribePeer(Rank) const override { return "torn"; }

 private:
  View view_;
  std::vector<Done> pending_;
};

// MaTEx GPU9: the final wait ended as soon as either of two transfers was done, so that the other
// was mixed in flight.
TEST(MaTEx, NeverMixesABufferStillInFlight) {
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      ExchangeSpec spec = Scenario(2, payload, overlap).spec;
      SimClock clock;
      SimWorker alone(SimModel(), spec, 1, 0, clock, nullptr);
      std::vector<float> weights;
      {
        auto group = std::make_unique<HalfDelivered>();
        SimWorker worker(SimModel(), spec, 2, 0, clock, group.get());
        ASSERT_TRUE(clock
                        .Run({[&] {
                          for (uint64_t step = 0; step < 4; ++step) {
                            EXPECT_TRUE(worker.Step(step).ok());
                            EXPECT_TRUE(alone.Step(step).ok());
                          }
                          EXPECT_TRUE(worker.exchange().Settle().ok());
                        }})
                        .ok());
        weights = worker.Weights();
        group.reset();
      }
      EXPECT_EQ(weights, alone.Weights()) << payload << " " << overlap;
    }
  }
}

// MaTEx GPU9: weights and momentum under the same tag, one taken for the other.
TEST(MaTEx, WeightsAndMomentumHaveDistinctTags) {
  SimScenario scenario = Scenario(2, "weights-momentum", "layerwise");
  SimCluster cluster(scenario);
  std::set<std::pair<Rank, Tag>> seen;
  cluster.network().fate = [&](Rank from, Rank, const Tag& tag) {
    EXPECT_TRUE(seen.insert({from, tag}).second) << "step " << tag.step << " block " << tag.block;
    return SimFate();
  };
  ASSERT_TRUE(cluster.Run().ok());
  // They travel in one message, so there is nothing to confuse: half of the bytes are weights, half
  // momentum.
  EXPECT_EQ(cluster.stats(0).bytes_sent,
            scenario.steps * 2 * sizeof(float) * cluster.worker(0).arena().size());
}

// MaTEx CPU12: the sum over all workers times 0.5, right for two only.
TEST(MaTEx, FinalAverageDividesByTheNumberOfWorkers) {
  for (int size = 2; size <= 7; ++size) {
    SimScenario scenario = Scenario(size, "weights", "layerwise");
    scenario.average = false;
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.Run().ok());
    std::vector<double> mean(cluster.worker(0).arena().size());
    for (Rank r = 0; r < size; ++r) {
      for (size_t i = 0; i < mean.size(); ++i) {
        mean[i] += double{cluster.worker(r).Weights()[i]} / size;
      }
    }
    std::vector<std::function<void()>> bodies;
    for (Rank r = 0; r < size; ++r) {
      bodies.push_back([&, r] {
        EXPECT_TRUE(cluster.worker(r).exchange().AverageReplicas(absl::InfiniteFuture()).ok());
      });
    }
    ASSERT_TRUE(cluster.clock().Run(std::move(bodies)).ok());
    for (size_t i = 0; i < mean.size(); ++i) {
      EXPECT_NEAR(cluster.worker(0).Weights()[i], mean[i], 1e-6) << size;
    }
  }
}

// MaTEx: the buffer in flight was the live weights, so the partner could receive a torn mix of old
// and new.
TEST(MaTEx, TheSnapshotIsNeverTheLiveBuffer) {
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"layerwise", "step"}) {
      SimScenario scenario = Scenario(2, payload, overlap);
      scenario.average = false;
      scenario.steps = 4;
      SimCluster clean(scenario), disturbed(scenario);
      ASSERT_TRUE(clean.Run().ok());
      // While the messages of a block are on their way, rank 0's live values are others for a
      // moment. The network reads the bytes when they arrive.
      disturbed.worker(0).after_block = [&](BlockIndex) {
        ParamArena& arena = disturbed.worker(0).arena();
        for (const Flat live : {arena.weights(), arena.momentum(), arena.gradients()}) {
          const std::vector<float> kept(live.begin(), live.end());
          for (float& value : live) value = 1e6f;
          disturbed.clock().Compute(absl::Milliseconds(2));
          std::copy(kept.begin(), kept.end(), live.begin());
        }
      };
      ASSERT_TRUE(disturbed.Run().ok());
      EXPECT_EQ(disturbed.stats(1).exchanges_skipped, 0u);
      EXPECT_EQ(disturbed.worker(1).Weights(), clean.worker(1).Weights()) << payload << overlap;
      EXPECT_EQ(disturbed.worker(1).Momentum(), clean.worker(1).Momentum()) << payload << overlap;
    }
  }
}

// MaTEx's last form mixes half of the partner's stale snapshot into the updated weights: nobody
// carries the other half of the update, and the mean model moves at half the learning rate.
TEST(MaTEx, SnapshotKeepsFullLearningRate) {
  constexpr int kSize = 8;
  constexpr uint64_t kSteps = 40;
  SimModel model;
  model.curvature = 0;  // the gradients do not depend on the weights, so the nominal path is known
  for (const char* payload : {"weights", "weights-momentum"}) {
    SimScenario scenario = Scenario(kSize, payload, "step");
    scenario.model = model;
    scenario.average = false;
    scenario.steps = kSteps;
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.Run().ok());
    const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
    SimOracle halved(model, scenario.spec, kSize, offsets, /*halved=*/true);
    for (uint64_t step = 0; step < kSteps; ++step) halved.Step(step);
    const std::vector<double> halved_mean = halved.Mean();
    double ours = 0, theirs = 0, square = 0;
    for (size_t k = 0; k < offsets.size(); ++k) {
      double nominal = 0, velocity = 0, mean = 0;
      for (uint64_t step = 0; step < kSteps; ++step) {
        double g = 0;
        for (Rank r = 0; r < kSize; ++r) g += model.Noise(r, step, offsets[k]) / kSize;
        velocity = model.momentum * velocity + model.Rate(step) * g;
        nominal -= velocity;
      }
      for (Rank r = 0; r < kSize; ++r)
        mean += double{cluster.worker(r).Weights()[offsets[k]]} / kSize;
      // Both paths projected on the nominal one.
      ours += (mean - model.Initial(offsets[k])) * nominal;
      theirs += (halved_mean[k] - model.Initial(offsets[k])) * nominal;
      square += nominal * nominal;
    }
    EXPECT_NEAR(ours / square, 1.0, 1e-3) << payload;
    EXPECT_LT(theirs / square, 0.75) << payload << ": the contrast has lost its point";
  }
}

// torchdistx: gradients alone, nothing ever pulls the weights together.
TEST(Torchdistx, WeightsStayTogetherAndGradientsAloneDriftUnlessAveraged) {
  const auto spread = [](absl::string_view payload, int64_t average_every) {
    SimScenario scenario = Scenario(4, payload, "layerwise");
    scenario.average = false;
    scenario.steps = 150;
    scenario.model.curvature = 0.02;
    scenario.spec.average_every = average_every;
    SimCluster cluster(scenario);
    EXPECT_TRUE(cluster.Run().ok());
    double squared = 0;
    for (size_t i = 0; i < cluster.worker(0).arena().size(); ++i) {
      const double d = cluster.worker(0).Weights()[i] - cluster.worker(1).Weights()[i];
      squared += d * d;
    }
    return std::sqrt(squared);
  };
  const double weights = spread("weights-momentum", 0);
  const double gradients = spread("gradients", 0);
  EXPECT_GT(gradients, 3 * weights);
  EXPECT_LT(spread("gradients", 10), gradients / 2);
}

// torchdistx: every call of the hook moved the schedule on, so the parts of one model met different
// partners.
TEST(Torchdistx, TopologyAdvancesOncePerStepWhateverTheNumberOfBlocks) {
  for (const int64_t bucket : {1, 400, 1 << 20}) {
    SimScenario scenario = Scenario(8, "weights", "layerwise");
    scenario.spec.bucket_bytes = bucket;
    scenario.average = false;
    SimCluster cluster(scenario);
    std::map<std::pair<Rank, uint64_t>, std::set<Rank>> partners;
    cluster.network().fate = [&](Rank from, Rank to, const Tag& tag) {
      partners[{from, tag.step}].insert(to);
      return SimFate();
    };
    ASSERT_TRUE(cluster.Run().ok());
    const auto schedule = *MakeSchedule("dissemination", {.size = 8, .seed = scenario.model.seed});
    ASSERT_EQ(partners.size(), 8 * scenario.steps);
    for (const auto& [who, met] : partners) {
      EXPECT_EQ(met, std::set<Rank>{schedule->At(who.first, who.second).send_to});
    }
  }
}

// torchdistx: an even number was taken for a cube, and workers stood idle.
TEST(Torchdistx, HypercubeRefusesSix) {
  ExchangeContext context;
  HalfDelivered group;
  context.spec.schedule = "hypercube";
  context.size = 6;
  context.rank = 0;
  context.group = &group;
  EXPECT_EQ(MakeExchange(std::move(context)).status().code(), absl::StatusCode::kInvalidArgument);
  SimScenario scenario = Scenario(8, "weights-momentum", "layerwise");
  scenario.spec.schedule = "hypercube";
  SimCluster cluster(scenario);
  ASSERT_TRUE(cluster.Run().ok());
  for (Rank r = 0; r < 8; ++r) EXPECT_EQ(cluster.stats(r).exchanges_done, 3 * scenario.steps);
}

// torchdistx: the schedule's generator was the process's own.
TEST(Torchdistx, ScheduleDoesNotTouchOtherRandomStreams) {
  std::srand(11);
  const int expected = std::rand();
  std::srand(11);
  SimCluster cluster(Scenario(4, "weights", "layerwise"));
  ASSERT_TRUE(cluster.Run().ok());
  EXPECT_EQ(std::rand(), expected);
}

// Both: the position in the schedule was state that no checkpoint held. Here a worker that begins
// at step 100 meets whom it would have met.
TEST(Torchdistx, AResumedRunMeetsTheSamePartners) {
  SimScenario scenario = Scenario(8, "weights", "layerwise");
  SimCluster cluster(scenario);
  std::map<std::pair<Rank, uint64_t>, Rank> met;
  cluster.network().fate = [&](Rank from, Rank to, const Tag& tag) {
    met[{from, tag.step}] = to;
    return SimFate();
  };
  ASSERT_TRUE(cluster.RunSteps(100, 6).ok());
  const auto schedule = *MakeSchedule("dissemination", {.size = 8, .seed = scenario.model.seed});
  ASSERT_EQ(met.size(), 48u);
  for (const auto& [who, partner] : met) {
    EXPECT_EQ(partner, schedule->At(who.first, who.second).send_to);
  }
}

}  // namespace
}  // namespace gg
