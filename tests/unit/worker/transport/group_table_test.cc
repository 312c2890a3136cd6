// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "worker/transport/group.h"

namespace gg {
namespace {

GroupState MakeState(absl::string_view job, uint64_t view) {
  return GroupState(job, View{view, {{"a", "x"}, {"b", "y"}}}, 0, {});
}

TEST(GroupTableTest, TellsOpenComingAndPastViewsApart) {
  using Verdict = GroupTable::Verdict;
  GroupTable table;
  GroupState first = MakeState("job", 3), second = MakeState("job", 4);
  GroupState* found = nullptr;
  EXPECT_EQ(table.Find("job", 3, &found), Verdict::kNotYet);
  table.Add(&first);
  EXPECT_EQ(table.Find("job", 3, &found), Verdict::kOpen);
  EXPECT_EQ(found, &first);
  EXPECT_EQ(table.Find("job", 2, &found), Verdict::kGone);
  EXPECT_EQ(table.Find("job", 4, &found), Verdict::kNotYet);
  EXPECT_EQ(table.Find("other", 3, &found), Verdict::kNotYet);
  table.Add(&second);
  table.Remove(&first);
  EXPECT_EQ(table.Find("job", 3, &found), Verdict::kGone);
  EXPECT_EQ(table.Find("job", 4, &found), Verdict::kOpen);
  EXPECT_TRUE(table.Contains("job", 4));
  EXPECT_FALSE(table.Contains("job", 3));
}

TEST(GroupTableTest, CountsAtTheYoungestGroupOfTheJobElseAtTheYoungest) {
  GroupTable table;
  table.CountStale("job");  // nobody there to count: nothing happens
  GroupState a = MakeState("a", 1), a2 = MakeState("a", 2), b = MakeState("b", 1);
  table.Add(&a);
  table.Add(&a2);
  table.Add(&b);
  table.CountStale("a");
  table.CountStale("unknown");
  EXPECT_EQ(a.counters.Read().dropped_stale, 0u);
  EXPECT_EQ(a2.counters.Read().dropped_stale, 1u);
  EXPECT_EQ(b.counters.Read().dropped_stale, 1u);
}

}  // namespace
}  // namespace gg
