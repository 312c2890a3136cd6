// SPDX-License-Identifier: Apache-2.0
// What the coordinator's page says of jobs: from states made by hand.
#include "coordinator/service/gauges.h"

#include <cmath>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/series_sink.h"

namespace gg {
namespace {

using ::testing::IsEmpty;
using Series = std::map<std::string, double>;

const absl::Time kStart = absl::FromUnixSeconds(1000);

Job MakeJob(uint64_t number, const std::string& name, JobState state) {
  Job job;
  job.id = absl::StrCat("j-", number);
  job.number = number;
  job.spec.name = name;
  job.spec.train.seed = 42;
  job.spec.model.name = "mlp";
  job.spec.exchange.payload = "weights";
  job.spec.exchange.overlap = "layerwise";
  job.state = state;
  job.created = kStart;
  job.revision = 1;
  return job;
}

JobMember Member(const std::string& id, double samples_per_second, double wait, double distance) {
  JobMember member;
  member.worker.worker_id = id;
  member.progress.samples_per_second = samples_per_second;
  member.progress.comm_wait_ratio = wait;
  member.progress.partner_distance = distance;
  return member;
}

class GaugesTest : public testing::Test {
 protected:
  void Show(const Job& job) { state_.jobs[job.number] = job; }
  void Update() {
    now_ += absl::Seconds(1);
    gauges_.Update(state_, 4096, now_);
  }
  double At(const std::string& key) {
    const Series all = sink_.series();
    const auto it = all.find(key);
    return it == all.end() ? -77 : it->second;
  }

  SeriesSink sink_;
  Gauges gauges_{&sink_};
  ClusterState state_;
  absl::Time now_ = kStart;
};

TEST_F(GaugesTest, TheStateOfAJobIsOneOfAll) {
  Job job = MakeJob(1, "lenet", JobState::kPending);
  Show(job);
  Update();
  EXPECT_EQ(sink_.Of("gossipgrad_job_state{"),
            (Series{{"gossipgrad_job_state{lenet,pending}", 1},
                    {"gossipgrad_job_state{lenet,starting}", 0},
                    {"gossipgrad_job_state{lenet,running}", 0},
                    {"gossipgrad_job_state{lenet,completing}", 0},
                    {"gossipgrad_job_state{lenet,succeeded}", 0},
                    {"gossipgrad_job_state{lenet,failed}", 0},
                    {"gossipgrad_job_state{lenet,cancelled}", 0}}));
  job.state = JobState::kRunning;
  ++job.revision;
  Show(job);
  Update();
  EXPECT_EQ(At("gossipgrad_job_state{lenet,pending}"), 0);
  EXPECT_EQ(At("gossipgrad_job_state{lenet,running}"), 1);
  EXPECT_EQ(At("gossipgrad_jobs{running}"), 1);
  EXPECT_EQ(At("gossipgrad_store_bytes"), 4096);
}

TEST_F(GaugesTest, WhatAJobIsStandsInItsInfo) {
  Show(MakeJob(1, "lenet", JobState::kPending));
  Update();
  EXPECT_EQ(sink_.Of("gossipgrad_job_info"),
            (Series{{"gossipgrad_job_info{lenet,j-1,42,mlp,gossip-grad,dissemination,weights,"
                     "layerwise}",
                     1}}));
}

TEST_F(GaugesTest, TheWaitGrowsUntilTheJobStartsAndStandsThen) {
  Job job = MakeJob(1, "lenet", JobState::kPending);
  Show(job);
  Update();
  EXPECT_EQ(At("gossipgrad_job_queue_wait_seconds{lenet}"), 1);
  Update();
  EXPECT_EQ(At("gossipgrad_job_queue_wait_seconds{lenet}"), 2);
  job.state = JobState::kStarting;
  job.started = kStart + absl::Seconds(2.5);
  ++job.revision;
  Show(job);
  Update();
  Update();
  EXPECT_EQ(At("gossipgrad_job_queue_wait_seconds{lenet}"), 2.5);
}

TEST_F(GaugesTest, AJobCancelledInTheQueueHasWaitedUntilThen) {
  Job job = MakeJob(1, "lenet", JobState::kCancelled);
  job.finished = kStart + absl::Seconds(7);
  Show(job);
  Update();
  EXPECT_EQ(At("gossipgrad_job_queue_wait_seconds{lenet}"), 7);
}

TEST_F(GaugesTest, ProgressAndExpectedEndComeFromTheSlowestWorker) {
  Job job = MakeJob(1, "lenet", JobState::kRunning);
  job.progress.step = 25;
  job.progress.total_steps = 100;
  job.progress.eta_seconds = 30;
  job.progress.last_updated = absl::FromUnixSeconds(1010);
  Show(job);
  Update();
  EXPECT_EQ(At("gossipgrad_job_progress_ratio{lenet}"), 0.25);
  EXPECT_EQ(At("gossipgrad_job_estimated_completion_timestamp_seconds{lenet}"), 1040);
  job.state = JobState::kSucceeded;  // nothing is expected any more
  ++job.revision;
  Show(job);
  Update();
  EXPECT_THAT(sink_.Of("gossipgrad_job_estimated_completion"), IsEmpty());
}

TEST_F(GaugesTest, AStragglerIsWhoIsSlowByItselfAndNotWhoWaitsForIt) {
  Job job = MakeJob(1, "lenet", JobState::kRunning);
  // All go at the pace of c, who waits for nobody.
  job.members = {Member("a", 100, 0.6, -1), Member("b", 100, 0.6, -1), Member("c", 100, 0.0, -1),
                 Member("d", 0, 0, -1)};  // has not reported yet
  Show(job);
  Update();
  const Series scores = sink_.Of("gossipgrad_straggler_score");
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_DOUBLE_EQ(scores.at("gossipgrad_straggler_score{lenet,a}"), 1);
  EXPECT_DOUBLE_EQ(scores.at("gossipgrad_straggler_score{lenet,b}"), 1);
  EXPECT_DOUBLE_EQ(scores.at("gossipgrad_straggler_score{lenet,c}"), 2.5);
  job.state = JobState::kFailed;
  ++job.revision;
  Show(job);
  Update();
  EXPECT_THAT(sink_.Of("gossipgrad_straggler_score"), IsEmpty());
}

TEST_F(GaugesTest, ConsensusIsEstimatedFromPartnersAndExactAtTheEnd) {
  Job job = MakeJob(1, "lenet", JobState::kRunning);
  job.members = {Member("a", 1, 0, 3), Member("b", 1, 0, 1), Member("c", 1, 0, -1)};
  Show(job);
  Update();
  EXPECT_DOUBLE_EQ(At("gossipgrad_consensus_distance{lenet}"), std::sqrt((9.0 + 1.0) / 2 / 3));
  job.state = JobState::kSucceeded;
  job.result.emplace();
  job.result->consensus_distance = 0.125;
  ++job.revision;
  Show(job);
  Update();
  EXPECT_EQ(At("gossipgrad_consensus_distance{lenet}"), 0.125);
}

TEST_F(GaugesTest, DistancesOfGradientsSayNothingOfConsensus) {
  Job job = MakeJob(1, "lenet", JobState::kRunning);
  job.spec.exchange.payload = "gradients";
  job.members = {Member("a", 1, 0, 3), Member("b", 1, 0, 1)};
  Show(job);
  Update();
  EXPECT_THAT(sink_.Of("gossipgrad_consensus_distance"), IsEmpty());
}

TEST_F(GaugesTest, NothingOfAJobIsLeftWhenItsRecordGoes) {
  Job job = MakeJob(1, "lenet", JobState::kRunning);
  job.members = {Member("a", 1, 0, 3)};
  job.progress.eta_seconds = 1;
  Show(job);
  Show(MakeJob(2, "stays", JobState::kPending));
  Update();
  state_.jobs.erase(1);
  Update();
  for (const auto& [key, value] : sink_.series()) {
    EXPECT_FALSE(absl::StrContains(key, "lenet")) << key;
  }
  EXPECT_EQ(At("gossipgrad_job_state{stays,pending}"), 1);
}

TEST_F(GaugesTest, OfJobsWithOneNameTheNewestIsShown) {
  Show(MakeJob(1, "lenet", JobState::kFailed));
  Update();
  EXPECT_EQ(At("gossipgrad_job_state{lenet,failed}"), 1);
  Job again = MakeJob(2, "lenet", JobState::kRunning);
  again.spec.train.seed = 7;
  Show(again);
  Update();
  EXPECT_EQ(At("gossipgrad_job_state{lenet,failed}"), 0);
  EXPECT_EQ(At("gossipgrad_job_state{lenet,running}"), 1);
  EXPECT_EQ(sink_.Of("gossipgrad_job_info").size(), 1u);
  state_.jobs.erase(1);  // the older record goes: nothing changes
  Update();
  EXPECT_EQ(At("gossipgrad_job_state{lenet,running}"), 1);
}

TEST_F(GaugesTest, WorkersAreCountedByStateAndTheOldestHeartbeatIsShown) {
  state_.workers["a"].last_heartbeat = kStart;
  state_.workers["b"].last_heartbeat = kStart + absl::Seconds(0.5);
  Update();
  EXPECT_EQ(At("gossipgrad_workers{idle}"), 2);
  EXPECT_EQ(At("gossipgrad_workers{running}"), 0);
  EXPECT_EQ(At("gossipgrad_heartbeat_age_seconds"), 1);
}

}  // namespace
}  // namespace gg
