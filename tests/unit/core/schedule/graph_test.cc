// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/graph.h"

#include <string>

#include "absl/strings/strip.h"
#include "core/schedule/influence.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

// Without the field of the job, which stands at the end of each.
std::string Error(absl::string_view text) {
  const auto graph = ParseScheduleGraph(text, "g.txt");
  EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument) << text;
  absl::string_view message = graph.status().message();
  EXPECT_TRUE(absl::ConsumeSuffix(&message, " (spec.exchange.graph_file)")) << message;
  return std::string(message);
}

TEST(ScheduleGraph, StagesAreLinesOfEdgesAndSwaps) {
  const auto graph = ParseScheduleGraph(
      "# two stages\n\nworkers 4\r\n0>1 1>2\t2>3 3>0  # round\n  0-2 1-3\n", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->size, 4);
  EXPECT_EQ(graph->send_to, (std::vector<std::vector<int>>{{1, 2, 3, 0}, {2, 3, 0, 1}}));
  EXPECT_EQ(graph->round_length, 2);
}

TEST(ScheduleGraph, WhoIsNotNamedRestsAndHalvesAreAllowed) {
  const auto graph = ParseScheduleGraph("workers 3\n0>1\n1>2\n2-0\n", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto schedule = MakeSchedule(
      "graph", {.size = 3, .rotate = false, .graph = std::make_shared<ScheduleGraph>(*graph)});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ((*schedule)->At(0, 0), (Partners{1, -1}));
  EXPECT_EQ((*schedule)->At(1, 0), (Partners{-1, 0}));
  EXPECT_EQ((*schedule)->At(2, 0), (Partners{-1, -1}));
  EXPECT_EQ((*schedule)->At(2, 2), (Partners{0, 0}));
  EXPECT_EQ((*schedule)->At(1, 3), (Partners{-1, 0})) << "the stages begin again";
}

TEST(ScheduleGraph, ARoundEndsWithAPassAndEverybodyHasReachedEverybody) {
  // A path: what 0 knows needs two passes to the other end.
  const auto graph = ParseScheduleGraph("workers 4\n2-3\n1-2\n0-1\n", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->round_length % 3, 0);
  const auto schedule =
      MakeSchedule("graph", {.size = 4, .graph = std::make_shared<ScheduleGraph>(*graph)});
  for (const uint64_t round : {0u, 1u, 9u}) {
    const Spread spread = MeasureSpread(**schedule, round * graph->round_length, 100);
    ASSERT_TRUE(spread.influenced.has_value());
    EXPECT_LE(*spread.influenced, static_cast<uint64_t>(graph->round_length));
    EXPECT_GT(*spread.influenced, static_cast<uint64_t>(graph->round_length) - 3);
  }
}

TEST(ScheduleGraph, MistakesAreNamedByLine) {
  EXPECT_EQ(Error(""),
            "g.txt: has no line \"workers N\"; begin it with one, for example \"workers 4\"");
  EXPECT_EQ(Error("0>1\n"), "g.txt:1: expected \"workers N\" before the first stage");
  EXPECT_EQ(Error("workers 0\n"), "g.txt:1: the number of workers must be 1 .. 4096, got \"0\"");
  EXPECT_EQ(Error("workers 99999\n"),
            "g.txt:1: the number of workers must be 1 .. 4096, got \"99999\"");
  EXPECT_EQ(Error("#\nworkers 3\n0>3\n"),
            "g.txt:3: worker 3 is not in 0 .. 2; number the workers from 0, or set N of \"workers "
            "N\" to their number");
  EXPECT_EQ(Error("workers 3\n0>-1\n"),
            "g.txt:2: worker -1 is not in 0 .. 2; number the workers from 0, or set N of \"workers "
            "N\" to their number");
  EXPECT_EQ(Error("workers 3\n1>1\n"),
            "g.txt:2: worker 1 is its own partner; leave it out to let it rest");
  EXPECT_EQ(Error("workers 3\n0>1 0>2\n"),
            "g.txt:2: worker 0 sends to 1 and to 2 in one stage; write two lines");
  EXPECT_EQ(Error("workers 3\n0>2 1>2\n"),
            "g.txt:2: worker 2 receives from 0 and from 1 in one stage; write two lines");
  for (const char* word : {"0", "0>", ">1", "a>b", "0=1", "0>1>2", "0,1", "99999999999>1"}) {
    EXPECT_EQ(
        Error(std::string("workers 3\n") + word),
        std::string("g.txt:2: \"") + word + "\": expected A>B, A sends to B, or A-B, both swap");
  }
}

TEST(ScheduleGraph, AByteOrderMarkIsSkipped) {
  const auto graph = ParseScheduleGraph("\xEF\xBB\xBFworkers 2\n0-1\n", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->size, 2);
  EXPECT_EQ(Error("\xEF\xBB\xBFworkers 2\n0>9\n").substr(0, 8), "g.txt:2:");
}

TEST(ScheduleGraph, WhoIsNeverReachedIsNamed) {
  EXPECT_EQ(Error("workers 3\n0>1\n1>2\n"),
            "g.txt: worker 1 never reaches worker 0, neither directly nor through others; add "
            "stages until it does");
  EXPECT_EQ(Error("workers 4\n0-1 2-3\n"),
            "g.txt: worker 0 never reaches worker 2, neither directly nor through others; add "
            "stages until it does");
  EXPECT_EQ(Error("workers 2\n"),
            "g.txt: worker 0 never reaches worker 1, neither directly nor through others; add "
            "stages until it does");
}

TEST(ScheduleGraph, OneWorkerNeedsNoStage) {
  const auto graph = ParseScheduleGraph("workers 1\n", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->round_length, 0);
}

TEST(ScheduleGraph, IsForOneSizeAndIsNeeded) {
  const auto graph = ParseScheduleGraph("workers 2\n0-1\n", "g.txt");
  EXPECT_EQ(
      MakeSchedule("graph", {.size = 3, .graph = std::make_shared<ScheduleGraph>(*graph)})
          .status()
          .message(),
      "g.txt: is for 2 workers, but there are 3; set spec.workers.min and max to 2, or write a "
      "graph with \"workers 3\" (spec.exchange.graph_file)");
  EXPECT_EQ(MakeSchedule("graph", {.size = 3}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
