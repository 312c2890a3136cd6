// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/peer_health.h"

#include "gtest/gtest.h"

namespace gg {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(5);
const absl::Time kStart = absl::UnixEpoch();

TEST(PeerHealth, EverybodyIsWorthWaitingForAtFirst) {
  PeerHealth health(3, kDeadline);
  EXPECT_TRUE(health.WorthWaiting(2, kStart));
}

TEST(PeerHealth, OneLateMessageIsForgiven) {
  PeerHealth health(3, kDeadline);
  health.Missed(1, 0, false, kStart);
  EXPECT_TRUE(health.WorthWaiting(1, kStart));
  health.Heard(1);
  health.Missed(1, 4, false, kStart);
  EXPECT_TRUE(health.WorthWaiting(1, kStart));
}

TEST(PeerHealth, AllUnitsOfOneStepAreOneMiss) {
  PeerHealth health(3, kDeadline);
  for (int unit = 0; unit < 5; ++unit) health.Missed(1, 0, false, kStart);
  EXPECT_TRUE(health.WorthWaiting(1, kStart));
}

TEST(PeerHealth, LateTwiceInARowStartsAPause) {
  PeerHealth health(3, kDeadline);
  health.Missed(1, 0, false, kStart);
  health.Missed(1, 3, false, kStart);
  EXPECT_FALSE(health.WorthWaiting(1, kStart + 2 * kDeadline - absl::Nanoseconds(1)));
  EXPECT_TRUE(health.WorthWaiting(1, kStart + 2 * kDeadline));
  EXPECT_TRUE(health.WorthWaiting(0, kStart)) << "another partner";
}

TEST(PeerHealth, ALossStartsAPauseAtOnceAndPausesDouble) {
  PeerHealth health(2, kDeadline);
  absl::Time now = kStart;
  for (const int deadlines : {2, 4, 8, 16, 16}) {
    health.Missed(1, 0, true, now);
    EXPECT_FALSE(health.WorthWaiting(1, now));
    now += deadlines * kDeadline;
    EXPECT_TRUE(health.WorthWaiting(1, now)) << deadlines;
    EXPECT_TRUE(health.WorthWaiting(1, now));
  }
}

TEST(PeerHealth, MissesInsideAPauseDoNotLengthenIt) {
  PeerHealth health(2, kDeadline);
  health.Missed(1, 0, true, kStart);
  for (int step = 1; step < 9; ++step) health.Missed(1, step, true, kStart + absl::Seconds(step));
  EXPECT_TRUE(health.WorthWaiting(1, kStart + 2 * kDeadline));
}

TEST(PeerHealth, AMessageInTimeEndsThePause) {
  PeerHealth health(2, kDeadline);
  health.Missed(1, 0, true, kStart);
  health.Heard(1);
  EXPECT_TRUE(health.WorthWaiting(1, kStart));
  health.Missed(1, 1, true, kStart);
  EXPECT_TRUE(health.WorthWaiting(1, kStart + 2 * kDeadline)) << "begins with a short pause again";
}

TEST(PeerHealth, ASignOfLifeEndsThePauseAndLateIsNoHabit) {
  PeerHealth health(2, kDeadline);
  health.Missed(1, 0, true, kStart);
  health.Alive(1);
  EXPECT_TRUE(health.WorthWaiting(1, kStart));
  for (int step = 1; step < 9; ++step) {
    health.Missed(1, step, false, kStart);
    health.Alive(1);
    EXPECT_TRUE(health.WorthWaiting(1, kStart)) << step;
  }
}

TEST(PeerHealth, AMissedPartnerIsWaitedForHalfAsLongUntilAMessageIsThereInTime) {
  PeerHealth health(2, kDeadline);
  EXPECT_EQ(health.Patience(1, kStart), kDeadline);
  health.Missed(1, 0, false, kStart);
  EXPECT_EQ(health.Patience(1, kStart), kDeadline / 2);
  health.Alive(1);
  EXPECT_EQ(health.Patience(1, kStart), kDeadline / 2);
  health.Heard(1);
  EXPECT_EQ(health.Patience(1, kStart), kDeadline);
  health.Missed(1, 1, true, kStart);
  EXPECT_EQ(health.Patience(1, kStart), absl::ZeroDuration()) << "a pause";
}

}  // namespace
}  // namespace gg
