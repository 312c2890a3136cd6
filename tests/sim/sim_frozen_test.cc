// SPDX-License-Identifier: Apache-2.0
// One worker that stands still, for long, for a while, or again and again: what the others make of
// it, and how all meet again. Messages are held as by a transport with back-pressure: a worker that
// stands still takes none.
#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "worker/exchange/inflight.h"

namespace gg {
namespace {

constexpr Rank kFrozen = 1;
constexpr absl::Duration kStep = absl::Milliseconds(10);

// How the messages that were expected in a stretch of time ended.
struct Stretch {
  absl::Duration from, to;
  uint64_t live = 0, live_ok = 0;  // between workers other than the frozen one
  uint64_t all = 0, all_ok = 0;
  uint64_t steps = 0;  // of the others, each message counted as its share of a step
  double live_share() const {
    return live == 0 ? 0 : static_cast<double>(live_ok) / static_cast<double>(live);
  }
};

// (workers, overlap of gossip-grad, or another method)
class Frozen : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  SimScenario Make(absl::Duration deadline, absl::Duration length) const {
    SimScenario scenario;
    scenario.size = std::get<0>(GetParam());
    scenario.steps = static_cast<uint64_t>(length / kStep);
    scenario.average = false;
    scenario.spec.payload = "weights-momentum";
    const std::string what = std::get<1>(GetParam());
    // Large enough to be paced (worker/exchange/inflight.h).
    if (what == "paced") scenario.model.blocks = {4'200};
    if (what == "d-psgd") {
      scenario.spec.algorithm = what;
      scenario.spec.payload = "weights";
    } else {
      scenario.spec.overlap = what == "paced" ? "layerwise" : what;
    }
    scenario.spec.bucket_bytes = 1 << 20;  // one unit
    scenario.spec.deadline_seconds = absl::ToDoubleSeconds(deadline);
    scenario.network.max_delay = absl::Milliseconds(2);
    scenario.network.rendezvous = true;
    return scenario;
  }

  // `freeze`: how long a step of the frozen worker that begins at a time takes.
  static std::vector<Stretch> Run(SimScenario scenario, std::vector<Stretch> stretches,
                                  std::function<absl::Duration(absl::Duration)> freeze) {
    SimClock* clock = nullptr;
    scenario.compute = [&](Rank r, uint64_t) {
      return r == kFrozen ? freeze(clock->elapsed()) : kStep;
    };
    SimCluster cluster(scenario);
    clock = &cluster.clock();
    cluster.network().on_recv_end = [&](Rank to, Rank from, const Tag& tag,
                                        const absl::Status& status) {
      if (tag.step > (uint64_t{1} << 40)) return;  // no exchange
      if (tag.block == Inflight::kAdmission) return;
      for (Stretch& s : stretches) {
        if (clock->elapsed() < s.from || clock->elapsed() >= s.to) continue;
        s.all += 1;
        s.all_ok += status.ok() ? 1 : 0;
        if (to == kFrozen) continue;
        ++s.steps;
        if (from == kFrozen) continue;
        s.live += 1;
        s.live_ok += status.ok() ? 1 : 0;
      }
    };
    const absl::Status status = cluster.Run();
    EXPECT_TRUE(status.ok()) << status;
    return stretches;
  }
};

absl::Duration Never(absl::Duration) {
  return kStep;
}

TEST_P(Frozen, ForLongTheOthersMeetEachOtherAndAfterwardsAllDo) {
  constexpr absl::Duration kDeadline = absl::Milliseconds(200);
  const absl::Duration thaw = absl::Seconds(10);
  const SimScenario scenario = Make(kDeadline, absl::Seconds(14));
  const std::vector<Stretch> stretches = {{absl::Seconds(0.2) + 5 * kDeadline, thaw},
                                          {thaw + 5 * kDeadline, thaw + absl::Seconds(3)}};
  const auto faults = Run(scenario, stretches, [&](absl::Duration now) {
    return now > absl::Seconds(0.2) && now < thaw ? thaw - now : kStep;
  });
  const auto clean = Run(scenario, stretches, Never);
  EXPECT_EQ(clean[0].all, clean[0].all_ok);
  EXPECT_GE(faults[0].live_share(), 0.9);
  EXPECT_GE(faults[0].steps, clean[0].steps * 8 / 10);
  EXPECT_EQ(faults[1].all_ok, faults[1].all);
  EXPECT_GE(faults[1].all, clean[1].all * 8 / 10);
  RecordProperty("live_share", std::to_string(faults[0].live_share()));
  RecordProperty("throughput", std::to_string(double(faults[0].steps) / double(clean[0].steps)));
  RecordProperty("thawed", std::to_string(double(faults[1].all_ok) / double(faults[1].all)));
}

TEST_P(Frozen, AgainAndAgainTheOthersMeetEachOtherAndAfterwardsAllDo) {
  // Awake for 20 ms of each 120 ms.
  constexpr absl::Duration kDeadline = absl::Milliseconds(20);
  const absl::Duration end = absl::Seconds(6);
  const auto pulses = [&](absl::Duration now) {
    if (now > end) return kStep;
    const absl::Duration in_cycle = now % absl::Milliseconds(120);
    return in_cycle + kStep <= absl::Milliseconds(20) ? kStep
                                                      : absl::Milliseconds(120) - in_cycle + kStep;
  };
  const SimScenario scenario = Make(kDeadline, absl::Seconds(9));
  const auto faults =
      Run(scenario, {{absl::Seconds(1), end}, {end + absl::Seconds(0.5), end + absl::Seconds(2.5)}},
          pulses);
  EXPECT_GE(faults[0].live_share(), 0.9);
  EXPECT_EQ(faults[1].all_ok, faults[1].all);
  RecordProperty("live_share", std::to_string(faults[0].live_share()));
  RecordProperty("steps", std::to_string(faults[0].steps));
  RecordProperty("thawed", std::to_string(double(faults[1].all_ok) / double(faults[1].all)));
}

INSTANTIATE_TEST_SUITE_P(Clusters, Frozen,
                         testing::Combine(testing::Values(3, 4, 5),
                                          testing::Values("none", "layerwise", "step", "d-psgd")));
INSTANTIATE_TEST_SUITE_P(LargeMessages, Frozen, testing::Values(std::make_tuple(4, "paced")));

}  // namespace
}  // namespace gg
