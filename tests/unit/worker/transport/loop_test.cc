// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace gg {
namespace {

TEST(LoopTest, RunsTasksInOrderOnItsOwnThread) {
  LocalLoop loop(RealClock());
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    loop.Post([&, i] {
      EXPECT_TRUE(loop.OnLoopThread());
      order.push_back(i);
    });
  }
  loop.RunSync([] {});
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_FALSE(loop.OnLoopThread());
}

TEST(LoopTest, RunSyncInsideATaskRunsAtOnce) {
  LocalLoop loop(RealClock());
  int value = 0;
  loop.RunSync([&] {
    loop.RunSync([&] { value = 1; });
    EXPECT_EQ(value, 1);
  });
}

TEST(LoopTest, TakesTasksFromManyThreads) {
  LocalLoop loop(RealClock());
  int sum = 0;  // the loop's thread only
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) loop.Post([&] { ++sum; });
      loop.RunSync([&] { EXPECT_GE(sum, 500); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  loop.RunSync([&] { EXPECT_EQ(sum, 2000); });
}

TEST(LoopTest, TimersRunInTheOrderOfTheirTimesUnlessCancelled) {
  LocalLoop loop(RealClock());
  std::vector<int> order;
  Monitor monitor;
  bool over = false;
  loop.RunSync([&] {
    loop.After(absl::Milliseconds(20), [&] {
      order.push_back(2);
      MutexLock lock(&monitor.mu);
      over = true;
      monitor.changed.NotifyAll();
    });
    loop.After(absl::Milliseconds(5), [&] { order.push_back(1); });
    loop.CancelTimer(loop.After(absl::Milliseconds(1), [&] { order.push_back(0); }));
  });
  MutexLock lock(&monitor.mu);
  ASSERT_TRUE(RealClock().Await(
      monitor, [&] { return over; }, RealClock().Now() + absl::Seconds(30)));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(LoopTest, DestructionRunsWhatWasPostedAndDropsTimers) {
  int ran = 0;
  {
    LocalLoop loop(RealClock());
    loop.Post([&] {
      loop.After(absl::Hours(1), [&] { ran = -1; });
      loop.Post([&] { ++ran; });
      ++ran;
    });
  }
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace gg
