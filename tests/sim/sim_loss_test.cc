// SPDX-License-Identifier: Apache-2.0
// Pushes that vanish without anybody being told: what each method keeps moves by exactly what was in
// them, which is read off the wire, and by nothing else.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "worker/exchange/gosgd.h"
#include "worker/exchange/round_notes.h"

namespace gg {
namespace {

// Of the mailbox and its methods.
constexpr uint32_t kNoteBlock = 1, kBodyBlock = 2;
constexpr uint64_t kFirstKind = 16, kAnswer = 17;

struct Note {
  uint64_t kind = 0, step = 0, number = 0;
  double weight = 0;
  uint64_t floats = 0, body_number = 0;
};

Note Parse(ConstBytes bytes) {
  uint64_t words[6];
  if (bytes.size() != sizeof(words)) return {};
  std::memcpy(words, bytes.data(), sizeof(words));
  return {words[0], words[1], words[2], std::bit_cast<double>(words[3]), words[4], words[5]};
}

// Reads all pushes of a cluster and lets some vanish, notes with what belongs to them or bodies alone.
class Losses {
 public:
  using Chosen = std::function<bool(Rank from, Rank to, const Note& note)>;

  Losses(SimNetwork& network, Chosen loses_note, Chosen loses_body) {
    network.on_send = [this](Rank from, Rank to, const Tag& tag, ConstBytes bytes) {
      if (!OfAPush(tag)) return;
      if (tag.block == kNoteBlock) {
        last_ = Parse(bytes);
        if (last_.floats > 0) notes_[{from, to, last_.body_number}] = last_;
        if (on_note) on_note(from, last_);
      } else {
        last_ = notes_[{from, to, tag.step - RoundNotes::kFirst}];
        last_body_ = bytes;
      }
    };
    network.fate = [this, loses_note, loses_body](Rank from, Rank to, const Tag& tag) {
      SimFate fate;
      if (!OfAPush(tag) || last_.kind < kFirstKind || last_.floats == 0) return fate;
      const bool of_note = loses_note(from, to, last_);
      const bool of_body = loses_body(from, to, last_);
      if (tag.block == kNoteBlock ? of_note : of_body) fate.kind = SimFate::kVanishes;
      if (tag.block == kBodyBlock && (of_note || of_body)) Count();
      return fate;
    };
  }

  std::function<void(Rank from, const Note& note)> on_note;

  int pushes() const { return pushes_; }
  double weight() const { return weight_; }
  // The sum of the answers that were lost.
  const std::vector<double>& answers() const { return answers_; }

 private:
  static bool OfAPush(const Tag& tag) {
    return tag.channel == Channel::kExchange && tag.step >= RoundNotes::kFirst && tag.block > 0;
  }
  void Count() {
    ++pushes_;
    weight_ += last_.weight;
    if (last_.kind != kAnswer) return;
    answers_.resize(last_.floats);
    for (size_t i = 0; i < last_.floats; ++i) {
      float value;
      std::memcpy(&value, last_body_.data() + i * sizeof(value), sizeof(value));
      answers_[i] += value;
    }
  }

  std::map<std::tuple<Rank, Rank, uint64_t>, Note> notes_;  // from, to, body number
  Note last_;
  ConstBytes last_body_;
  int pushes_ = 0;
  double weight_ = 0;
  std::vector<double> answers_;
};

bool OneIn(uint64_t n, Rank from, Rank to, const Note& note) {
  return (note.body_number * 7 + static_cast<uint64_t>(from) + 3 * static_cast<uint64_t>(to)) % n ==
         0;
}

bool Never(Rank, Rank, const Note&) {
  return false;
}

// Without gradients, from models that differ: only the exchange moves them.
SimScenario Still(const std::string& algorithm, int size) {
  SimScenario scenario;
  scenario.size = size;
  scenario.steps = 300;
  scenario.spec.algorithm = algorithm;
  scenario.spec.push_probability = 0.4;
  scenario.spec.deadline_seconds = 1;
  scenario.model.curvature = 0;
  scenario.model.noise = false;
  scenario.network.max_delay = absl::Milliseconds(9);
  return scenario;
}

void Spread(SimCluster& cluster, int size) {
  for (Rank r = 0; r < size; ++r) {
    for (const size_t i : cluster.worker(r).ParameterOffsets()) {
      cluster.worker(r).arena().weights()[i] += static_cast<float>(r);
    }
  }
}

std::vector<double> Sum(SimCluster& cluster, int size) {
  std::vector<double> sum;
  for (const size_t i : cluster.worker(0).ParameterOffsets()) {
    sum.push_back(0);
    for (Rank r = 0; r < size; ++r) sum.back() += cluster.worker(r).arena().weights()[i];
  }
  return sum;
}

TEST(SimLoss, GoSgdsWeightsAndWhatWasLostKeepTheSumOne) {
  for (const int size : {2, 3, 5, 9}) {
    for (const bool notes : {false, true}) {
      SimCluster cluster(Still("gosgd", size));
      const auto some = [](Rank from, Rank to, const Note& note) {
        return OneIn(11, from, to, note);
      };
      Losses losses(cluster.network(), notes ? Losses::Chosen(some) : Never,
                    notes ? Losses::Chosen(Never) : some);
      Spread(cluster, size);
      ASSERT_TRUE(cluster.Run().ok());
      EXPECT_GT(losses.pushes(), 10);
      double sum = losses.weight();
      for (Rank r = 0; r < size; ++r) {
        EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
        EXPECT_EQ(cluster.worker(r).Weights(), cluster.worker(0).Weights());
        sum += dynamic_cast<GoSgd&>(cluster.worker(r).exchange()).weight();
      }
      EXPECT_NEAR(sum, 1, 1e-12) << size << " workers";
    }
  }
}

TEST(SimLoss, AdPsgdsSumOfModelsMovesByTheAnswersThatWereLost) {
  for (const int size : {3, 5, 9}) {
    SimScenario scenario = Still("ad-psgd", size);
    scenario.steps = 600;
    scenario.spec.deadline_seconds = 0.05;  // soon asks again
    scenario.compute = [](Rank, uint64_t) { return absl::Milliseconds(20); };
    SimCluster cluster(scenario);
    // Early on, while the models differ; what waits behind them comes before the end.
    const auto some = [](Rank from, Rank to, const Note& note) {
      return note.step < 200 && OneIn(note.kind == kAnswer ? 3 : 7, from, to, note);
    };
    Losses losses(cluster.network(), Never, some);
    Spread(cluster, size);
    const std::vector<double> before = Sum(cluster, size);
    ASSERT_TRUE(cluster.Run().ok());
    ASSERT_FALSE(losses.answers().empty());
    const std::vector<size_t> offsets = cluster.worker(0).ParameterOffsets();
    const std::vector<double> after = Sum(cluster, size);
    double moved = 0;
    for (size_t k = 0; k < offsets.size(); ++k) {
      const double lost = losses.answers()[offsets[k]];
      moved += std::abs(lost);
      ASSERT_NEAR(after[k], before[k] + lost, 2e-5 * size) << size << " workers, parameter " << k;
    }
    EXPECT_GT(moved, 1) << "else nothing was put to the test";
    for (Rank r = 0; r < size; ++r) {
      EXPECT_TRUE(cluster.average_status(r).ok()) << cluster.average_status(r);
    }
  }
}

class SimLossSgp : public testing::TestWithParam<const char*> {};

// The note of a push has the half of its sender's weight that stays as well; between two steps of
// this test everything arrives.
TEST_P(SimLossSgp, TheWeightsComeBackToTheNumberOfWorkers) {
  for (const int size : {2, 3, 5, 9}) {
    for (const bool notes : {false, true}) {
      SimScenario scenario = Still("sgp", size);
      scenario.spec.overlap = GetParam();
      scenario.network.max_delay = scenario.network.min_delay;
      SimCluster cluster(scenario);
      const auto some = [](Rank from, Rank, const Note& note) {
        return (from == 1 && note.step == 4) || (from == 0 && note.step == 20);
      };
      Losses losses(cluster.network(), notes ? Losses::Chosen(some) : Never,
                    notes ? Losses::Chosen(Never) : some);
      double sum = 0;
      int pushes = 0;
      losses.on_note = [&](Rank, const Note& note) {
        sum += 2 * note.weight;
        pushes += note.floats > 0;
      };
      Spread(cluster, size);
      double least = size;
      int checked = 0;
      for (uint64_t step = 0; step < 100; ++step) {
        sum = 0;
        pushes = 0;
        ASSERT_TRUE(cluster.RunSteps(step, 1).ok());
        if (pushes < size) continue;  // somebody gives nothing away
        least = std::min(least, sum);
        if (step > 4 && step < 60) continue;
        EXPECT_NEAR(sum, size, 1e-9) << "step " << step << " of " << size << " workers";
        ++checked;
      }
      EXPECT_EQ(losses.pushes(), 2);
      EXPECT_GT(checked, 20);
      if (scenario.spec.overlap != "step") {
        EXPECT_LT(least, size - 0.2) << "else nothing was put to the test";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Overlaps, SimLossSgp, testing::Values("none", "layerwise", "step"));

}  // namespace
}  // namespace gg
