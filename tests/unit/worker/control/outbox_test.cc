// SPDX-License-Identifier: Apache-2.0
#include "worker/control/outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace gg {
namespace {

using gossipgrad::v1::WorkerMessage;

WorkerMessage ProgressAt(const std::string& job, uint64_t step) {
  WorkerMessage message;
  message.mutable_progress()->set_job_id(job);
  message.mutable_progress()->set_step(step);
  return message;
}

WorkerMessage IncidentAt(uint64_t step) {
  WorkerMessage message;
  message.mutable_incident()->set_step(step);
  return message;
}

TEST(Outbox, NewestProgressReplacesTheWaitingOneOfTheSameJob) {
  Outbox outbox(RealClock());
  outbox.Put(ProgressAt("a", 1));
  outbox.Put(ProgressAt("b", 5));
  outbox.Put(ProgressAt("a", 2));
  outbox.Put(ProgressAt("a", 3));
  ASSERT_EQ(outbox.size(), 2u);
  EXPECT_EQ(outbox.Take(absl::InfiniteFuture())->progress().step(), 3u);
  EXPECT_EQ(outbox.Take(absl::InfiniteFuture())->progress().step(), 5u);
}

TEST(Outbox, GivesUpIncidentsFirstAndNothingElse) {
  Outbox outbox(RealClock(), 4);
  WorkerMessage finished;
  finished.mutable_finished()->set_job_id("a");
  outbox.Put(finished);
  for (uint64_t i = 0; i < 10; ++i) outbox.Put(IncidentAt(i));
  EXPECT_EQ(outbox.size(), 4u);
  EXPECT_TRUE(outbox.Take(absl::InfiniteFuture())->has_finished());
  EXPECT_EQ(outbox.Take(absl::InfiniteFuture())->incident().step(), 7u);  // the newest three stay
}

TEST(Outbox, WhatCouldNotBeSentComesFirstAgain) {
  Outbox outbox(RealClock());
  outbox.Put(IncidentAt(1));
  outbox.Put(IncidentAt(2));
  auto taken = outbox.Take(absl::InfiniteFuture());
  outbox.PutBack(*taken);
  EXPECT_EQ(outbox.Take(absl::InfiniteFuture())->incident().step(), 1u);
}

TEST(Outbox, TakeEndsAtItsDeadlineAndWhenInterrupted) {
  Outbox outbox(RealClock());
  EXPECT_FALSE(outbox.Take(RealClock().Now()).has_value());
  std::thread taker([&] { EXPECT_FALSE(outbox.Take(absl::InfiniteFuture()).has_value()); });
  outbox.Interrupt();
  taker.join();
  outbox.Put(IncidentAt(1));
  EXPECT_FALSE(outbox.Take(absl::InfiniteFuture()).has_value());  // until resumed
  outbox.Resume();
  EXPECT_TRUE(outbox.Take(absl::InfiniteFuture()).has_value());
}

}  // namespace
}  // namespace gg
