// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/dataset_cache.h"

#include <gtest/gtest.h>

namespace gg {
namespace {

DataSpec Synthetic() {
  DataSpec spec;
  spec.format = "synthetic";
  spec.shape = {1, 4, 4};
  spec.classes = 3;
  spec.train_samples = 20;
  spec.test_samples = 10;
  return spec;
}

TEST(DatasetCache, KeepsTheDataForAJobThatAsksForTheSame) {
  DatasetCache cache;
  const auto first = cache.Get(Synthetic(), 1);
  ASSERT_TRUE(first.ok()) << first.status();
  DataSpec other_use = Synthetic();
  other_use.exchange = "none";
  const auto second = cache.Get(other_use, 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->train, second->train);
  EXPECT_EQ(first->fingerprint, second->fingerprint);
}

TEST(DatasetCache, LoadsAnewForOtherDataOrAnotherSeed) {
  DatasetCache cache;
  const auto first = cache.Get(Synthetic(), 1);
  const auto other_seed = cache.Get(Synthetic(), 2);
  ASSERT_TRUE(first.ok() && other_seed.ok());
  EXPECT_NE(first->fingerprint, other_seed->fingerprint);
  DataSpec smaller = Synthetic();
  smaller.train_samples = 19;
  const auto other_data = cache.Get(smaller, 2);
  ASSERT_TRUE(other_data.ok());
  EXPECT_EQ(other_data->train->size(), 19);
  const auto again = cache.Get(Synthetic(), 1);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->fingerprint, first->fingerprint);
}

TEST(DatasetCache, HoldsNothingAfterAnErrorAndServesTheNextJob) {
  DatasetCache cache;
  DataSpec missing;
  missing.format = "idx";
  missing.path = "/does/not/exist";
  EXPECT_EQ(cache.Get(missing, 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(cache.Get(Synthetic(), 1).ok());
}

}  // namespace
}  // namespace gg
