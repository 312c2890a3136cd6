// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grouping.h"

#include "core/schedule/influence.h"
#include "core/schedule/schedule.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

TEST(Grouping, GroupsByPlaceInTheOrderOfTheirFirstRanks) {
  const auto grouping = GroupByPlace({"b", "a", "a", "b", "c", "c"});
  ASSERT_TRUE(grouping.ok()) << grouping.status();
  EXPECT_EQ(grouping->groups, (std::vector<std::vector<Rank>>{{0, 3}, {1, 2}, {4, 5}}));
  EXPECT_EQ(grouping->group_of, (std::vector<int>{0, 1, 1, 0, 2, 2}));
  EXPECT_EQ(grouping->place_of, (std::vector<int>{0, 0, 1, 1, 0, 1}));
}

TEST(Grouping, RefusesGroupsOfDifferentSizesByName) {
  const auto grouping = GroupByPlace({"b", "a", "a"});
  EXPECT_EQ(grouping.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(grouping.status().message(),
            "schedule hierarchical needs groups of one size, but of the workers b has 1, a has 2: "
            "start as many workers in each, or use the schedule dissemination");
}

TEST(Grouping, TakesTheLabelOfTheViewsMembers) {
  View view{1, {{"w0", "x", {{"host", "h"}, {"rack", "3"}}}, {"w1", "y", {{"host", "i"}}}}};
  EXPECT_EQ(*PlacesOf(view, "host"), (std::vector<std::string>{"h", "i"}));
  EXPECT_EQ(PlacesOf(view, "rack").status().message(),
            "schedule hierarchical groups workers by the topology rack, which w1 does not have: "
            "start gg-worker with --topology rack=PLACE");
}

TEST(Hierarchical, MembersMeetTheMemberWithTheirPlaceInTheOtherGroup) {
  const auto schedule = MakeSchedule(
      "hierarchical", {.size = 6, .seed = 1, .places = {"b", "a", "a", "b", "c", "c"}});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ((*schedule)->round_length(), 2);
  EXPECT_EQ((*schedule)->At(0, 0), (Partners{4, 1}));
  EXPECT_EQ((*schedule)->At(3, 0), (Partners{5, 2}));
  EXPECT_EQ((*schedule)->GroupOf(3), (std::vector<Rank>{0, 3}));
  EXPECT_EQ(MeasureSpread(**schedule, 0, 10).influenced, 2u);
}

TEST(Hierarchical, OneGroupIsCompleteInAStepAndGroupsOfOneAreDissemination) {
  const auto one = MakeSchedule("hierarchical", {.size = 3, .places = {"a", "a", "a"}});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ((*one)->At(1, 0), (Partners{-1, -1}));
  EXPECT_EQ((*one)->round_length(), 1);
  EXPECT_EQ(MeasureSpread(**one, 0, 10).influenced, 1u);
  const auto single =
      MakeSchedule("hierarchical", {.size = 5, .seed = 3, .places = {"e", "d", "c", "b", "a"}});
  const auto plain = MakeSchedule("dissemination", {.size = 5, .seed = 3});
  for (uint64_t step = 0; step < 20; ++step) {
    EXPECT_EQ((*single)->Table(step), (*plain)->Table(step));
  }
}

TEST(Hierarchical, NeedsAPlaceOfEverybody) {
  for (const auto& places : {std::vector<std::string>{}, std::vector<std::string>{"a", "b"}}) {
    EXPECT_EQ(MakeSchedule("hierarchical", {.size = 3, .places = places}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace gg
