// SPDX-License-Identifier: Apache-2.0
// What the exchange tells the metrics, in virtual time.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sim_cluster.h"
#include "worker/exchange/partner_watch.h"

namespace gg {
namespace {

SimScenario Scenario(int size, absl::string_view payload, absl::string_view overlap) {
  SimScenario scenario;
  scenario.size = size;
  scenario.steps = 6;
  scenario.average = false;
  scenario.spec.payload = std::string(payload);
  scenario.spec.overlap = std::string(overlap);
  scenario.spec.deadline_seconds = 1;
  return scenario;
}

TEST(ExchangeMetrics, TheCatalogueKnowsEveryReasonAndNoOther) {
  std::vector<std::string> names;
  for (const SkipReason reason : kAllSkipReasons) names.emplace_back(SkipReasonName(reason));
  const MetricInfo& info = CounterInfos()[static_cast<size_t>(CounterId::kGossipSkipped)];
  EXPECT_EQ(LabelsOf(info).at(0).values, names);
}

TEST(ExchangeMetrics, AMessageThatCannotBeSentIsCounted) {
  SimCluster cluster(Scenario(2, "weights", "none"));
  cluster.clock().After(absl::Milliseconds(35), [&] { cluster.network().Kill(1); });
  ASSERT_TRUE(cluster.RunSteps(0, 6).ok());
  EXPECT_GT(cluster.worker(0).metrics().counter(CounterId::kGossipSkipped, "send_failed"), 0);
}

TEST(ExchangeMetrics, AnExchangeThatIsNotOkIsLateOrLost) {
  SimCluster cluster(Scenario(2, "weights", "none"));
  cluster.network().fate = [](Rank from, Rank, const Tag& tag) {
    return from == 1 && tag.step == 2 && tag.channel == Channel::kExchange
               ? SimFate{SimFate::kIsCorrupt, {}}
               : SimFate();
  };
  ASSERT_TRUE(cluster.RunSteps(0, 4).ok());
  const RecordingSink& sink = cluster.worker(0).metrics();
  EXPECT_GT(sink.counter(CounterId::kGossipSkipped, "corrupt"), 0);
  EXPECT_EQ(sink.counter(CounterId::kGossipExchanges, "lost"),
            sink.counter(CounterId::kGossipSkipped, "corrupt"));
  EXPECT_GT(sink.counter(CounterId::kGossipExchanges, "ok"), 0);
}

TEST(ExchangeMetrics, MessagesOfPeriodicAveragesCountInBothDirections) {
  SimScenario scenario = Scenario(3, "gradients", "none");
  double without = 0;
  for (const int every : {0, 2}) {
    scenario.spec.average_every = every;
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.RunSteps(0, 6).ok());
    const RecordingSink& sink = cluster.worker(1).metrics();
    const double sent = sink.counter(CounterId::kGossipMessages, "sent");
    EXPECT_EQ(sink.counter(CounterId::kGossipMessages, "received"), sent) << every;
    if (every == 0) {
      without = sent;
    } else {
      EXPECT_EQ(sent, without + 3 * 4);  // three averages of 2 (3 - 1) messages
      EXPECT_GT(sink.counter(CounterId::kGossipBytes, "received"), 0);
    }
  }
}

TEST(ExchangeMetrics, StalenessIsThatOfTheMix) {
  for (const char* payload : {"gradients", "weights", "weights-momentum"}) {
    for (const char* overlap : {"none", "layerwise", "step"}) {
      SimCluster cluster(Scenario(4, payload, overlap));
      ASSERT_TRUE(cluster.RunSteps(0, 6).ok());
      EXPECT_EQ(cluster.worker(2).metrics().gauge(GaugeId::kGossipStaleness),
                std::string(overlap) == "step" ? 1 : 0)
          << payload << " " << overlap;
    }
  }
}

TEST(ExchangeMetrics, RoundAndRotationFollowTheSchedule) {
  for (const bool rotate : {true, false}) {
    SimScenario scenario = Scenario(4, "weights", "none");
    scenario.spec.rotate = rotate;
    SimCluster cluster(scenario);
    ASSERT_TRUE(cluster.RunSteps(0, 5).ok());  // a round of four workers has two steps
    const RecordingSink& sink = cluster.worker(0).metrics();
    EXPECT_EQ(sink.gauge(GaugeId::kGossipRound), 3);
    EXPECT_EQ(sink.gauge(GaugeId::kGossipRotation), rotate ? 2 : 0);
  }
}

}  // namespace
}  // namespace gg
