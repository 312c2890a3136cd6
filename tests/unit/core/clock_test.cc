// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

TEST(RealClock, NeverGoesBackAndBeginsNearTheWallClock) {
  Clock& clock = RealClock();
  absl::Time last = clock.Now();
  EXPECT_LT(absl::AbsDuration(last - absl::Now()), absl::Minutes(5));
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClock, AwaitReturnsAtOnceWhenReady) {
  Monitor monitor;
  MutexLock lock(&monitor.mu);
  EXPECT_TRUE(RealClock().Await(
      monitor, [] { return true; }, absl::InfinitePast()));
}

TEST(RealClock, AwaitGivesUpAtItsDeadline) {
  Monitor monitor;
  MutexLock lock(&monitor.mu);
  const absl::Time deadline = RealClock().Now() + absl::Milliseconds(5);
  EXPECT_FALSE(RealClock().Await(
      monitor, [] { return false; }, deadline));
  EXPECT_GE(RealClock().Now(), deadline);
}

TEST(RealClock, AwaitWakesForAChangeByAnotherThread) {
  Monitor monitor;
  bool done = false;
  std::thread other([&] {
    MutexLock lock(&monitor.mu);
    done = true;
    monitor.changed.NotifyAll();
  });
  {
    MutexLock lock(&monitor.mu);
    EXPECT_TRUE(RealClock().Await(
        monitor, [&] { return done; }, absl::InfiniteFuture()));
  }
  other.join();
}

}  // namespace
}  // namespace gg
