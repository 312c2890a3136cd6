// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_clock.h"

#include <string>

#include "gtest/gtest.h"

namespace gg {
namespace {

TEST(SimClock, ComputeTakesVirtualTimeOnly) {
  SimClock clock;
  absl::Time end;
  const absl::Time start = clock.Now();
  ASSERT_TRUE(clock
                  .Run({[&] {
                    clock.Compute(absl::Minutes(30));
                    end = clock.Now();
                  }})
                  .ok());
  EXPECT_EQ(end - start, absl::Minutes(30));
}

TEST(SimClock, WorkersRunInRankOrderAtEqualTimes) {
  for (int repetition = 0; repetition < 3; ++repetition) {
    SimClock clock;
    std::string order;
    std::vector<std::function<void()>> bodies;
    for (int r = 0; r < 5; ++r) {
      bodies.push_back([&clock, &order, r] {
        for (int i = 0; i < 3; ++i) {
          clock.Compute(absl::Seconds(1));
          order += std::to_string(r);
        }
      });
    }
    ASSERT_TRUE(clock.Run(std::move(bodies)).ok());
    EXPECT_EQ(order, "012340123401234");
  }
}

TEST(SimClock, AnEventWakesWhoWaitsForIt) {
  SimClock clock;
  Monitor monitor;
  bool done = false;
  clock.After(absl::Seconds(2), [&] {
    MutexLock lock(&monitor.mu);
    done = true;
  });
  absl::Duration waited;
  bool result = false;
  ASSERT_TRUE(clock
                  .Run({[&] {
                    const absl::Time start = clock.Now();
                    MutexLock lock(&monitor.mu);
                    result = clock.Await(
                        monitor, [&] { return done; }, start + absl::Seconds(9));
                    waited = clock.Now() - start;
                  }})
                  .ok());
  EXPECT_TRUE(result);
  EXPECT_EQ(waited, absl::Seconds(2));
}

TEST(SimClock, DeadlockIsAnErrorAndEverybodyComesHome) {
  SimClock clock;
  Monitor monitor;
  const auto forever = [&] {
    MutexLock lock(&monitor.mu);
    clock.Await(
        monitor, [] { return false; }, absl::InfiniteFuture());
  };
  EXPECT_EQ(clock.Run({forever, forever}).code(), absl::StatusCode::kInternal);
}

TEST(SimClock, TooLongARunIsAnError) {
  SimClock clock(absl::Seconds(10));
  const absl::Status status = clock.Run({[&] {
    for (int i = 0; i < 100; ++i) clock.Compute(absl::Seconds(1));
  }});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace gg
