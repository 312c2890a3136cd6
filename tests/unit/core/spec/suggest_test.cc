// SPDX-License-Identifier: Apache-2.0
#include "core/spec/suggest.h"

#include <gtest/gtest.h>

#include <string>

namespace gg {
namespace {

TEST(EditDistance, CountsEachKindOfSlip) {
  EXPECT_EQ(EditDistance("schedule", "schedule"), 0);
  EXPECT_EQ(EditDistance("shedule", "schedule"), 1);
  EXPECT_EQ(EditDistance("schedulee", "schedule"), 1);
  EXPECT_EQ(EditDistance("schedulx", "schedule"), 1);
  EXPECT_EQ(EditDistance("scehdule", "schedule"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(EditDistance, TakesCamelCaseAndSnakeCaseForTheSame) {
  EXPECT_EQ(EditDistance("batchSize", "batch_size"), 0);
  EXPECT_EQ(EditDistance("gossip_grad", "gossip-grad"), 0);
}

TEST(Nearest, FindsASlipButNotAnotherWord) {
  EXPECT_EQ(Nearest("hypercub", {"dissemination", "hypercube"}), "hypercube");
  EXPECT_EQ(Nearest("banana", {"dissemination", "hypercube"}), "");
  EXPECT_EQ(Nearest("", {"a"}), "");
  EXPECT_EQ(Nearest("x", {}), "");
}

TEST(Nearest, IgnoresWordsTooLongToBeSlips) {
  EXPECT_EQ(Nearest(std::string(100000, 'a'), {std::string(100000, 'a')}), "");
}

}  // namespace
}  // namespace gg
