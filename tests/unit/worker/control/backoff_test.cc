// SPDX-License-Identifier: Apache-2.0
#include "worker/control/backoff.h"

#include <gtest/gtest.h>

#include <set>

namespace gg {
namespace {

TEST(Backoff, GrowsToItsBoundAndKeepsItsJitter) {
  BackoffOptions options;
  options.initial = absl::Milliseconds(100);
  options.max = absl::Seconds(2);
  options.jitter = 0.5;
  Backoff backoff(options, 1);
  absl::Duration full = absl::Milliseconds(100);
  for (int i = 0; i < 12; ++i) {
    const absl::Duration delay = backoff.Next();
    EXPECT_LE(delay, full);
    EXPECT_GE(delay, full * 0.5);
    full = std::min(full * 2, options.max);
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Milliseconds(100));
}

TEST(Backoff, DifferentWorkersDoNotComeBackInStep) {
  std::set<absl::Duration> first;
  for (uint64_t seed = 0; seed < 20; ++seed) first.insert(Backoff({}, seed).Next());
  EXPECT_GT(first.size(), 15u);
}

TEST(Backoff, WithoutJitterTheDelaysAreExact) {
  BackoffOptions options;
  options.jitter = 0;
  Backoff backoff(options, 1);
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(100));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(200));
}

}  // namespace
}  // namespace gg
