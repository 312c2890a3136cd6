// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/results.h"

#include <cmath>
#include <string>
#include <vector>

#include "core/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;

Job TwoFinished() {
  Job job;
  job.members.resize(2);
  FinishedReport a;
  a.steps = 100;
  a.epochs = 2;
  a.train_seconds = 4;
  a.samples = 6400;
  a.sent_bytes = 1000;
  a.sent_messages = 300;
  a.wait_seconds = 1;
  a.skipped_exchanges = 2;
  a.squared_distance = 9;
  a.squared_parameter_norm = 16;
  a.replica_accuracy = 0.91;
  a.average_correct = 45;
  a.average_samples = 50;
  a.average_loss_sum = 25;
  a.model_checksum = 11;
  a.phase_seconds = {{"forward", 2}, {"exchange", 1}};
  a.trades_late = 1;
  a.parameter_count = 7;
  FinishedReport b = a;
  b.train_seconds = 5;
  b.samples = 6500;
  b.sent_bytes = 3000;
  b.sent_messages = 500;
  b.wait_seconds = 0;
  b.skipped_exchanges = 3;
  b.squared_distance = 41;
  b.replica_accuracy = 0.89;
  b.average_correct = 30;
  b.average_samples = 100;
  b.average_loss_sum = 35;
  b.model_checksum = 22;
  b.phase_seconds = {{"forward", 4}};
  job.members[0].finished = a;
  job.members[1].finished = b;
  return job;
}

TEST(AggregateTest, EveryNumberIsWhatTheWireContractSays) {
  const JobResult result = Aggregate(TwoFinished());
  EXPECT_DOUBLE_EQ(result.test_accuracy, 75.0 / 150);  // by samples, not a mean of accuracies
  EXPECT_DOUBLE_EQ(result.test_loss, 60.0 / 150);
  EXPECT_THAT(result.replica_accuracy, ElementsAre(0.91, 0.89));
  EXPECT_DOUBLE_EQ(result.samples_per_second, 12900.0 / 5);
  EXPECT_DOUBLE_EQ(result.train_seconds, 5);
  EXPECT_DOUBLE_EQ(result.sent_bytes_per_step, 20);
  EXPECT_DOUBLE_EQ(result.messages_per_step, 4);
  EXPECT_DOUBLE_EQ(result.comm_wait_ratio, 0.125);
  EXPECT_DOUBLE_EQ(result.consensus_distance, 5);  // sqrt((9 + 41) / 2)
  EXPECT_EQ(result.skipped_exchanges, 5u);
  EXPECT_EQ(result.trades_late, 2u);
  EXPECT_EQ(result.steps, 100u);
  EXPECT_DOUBLE_EQ(result.epochs, 2);
  EXPECT_DOUBLE_EQ(result.parameter_norm, 4);
  EXPECT_EQ(result.parameter_count, 7u);
  EXPECT_EQ(result.model_checksum, 11u);  // rank 0's
  EXPECT_THAT(result.phase_seconds, ElementsAre(Pair("exchange", DoubleNear(0.5, 1e-12)),
                                                Pair("forward", DoubleNear(3, 1e-12))));
}

TEST(AggregateTest, EpochsAreMeansOverWorkersAndSumsOverSlices) {
  Job job = TwoFinished();
  job.members[0].epochs = {{1, {1, 2.0, false, 0, 0}}, {2, {2, 1.0, true, 40, 50}}};
  job.members[1].epochs = {{1, {1, 4.0, false, 0, 0}}, {2, {2, 2.0, true, 5, 100}}};
  const JobResult result = Aggregate(job);
  EXPECT_THAT(result.train_loss, ElementsAre(3.0, 1.5));
  EXPECT_THAT(result.epoch_test_accuracy, ElementsAre(45.0 / 150));
}

TEST(AggregateTest, AWorkerThatDidNothingDividesByNothing) {
  Job job;
  job.members.resize(1);
  job.members[0].finished = FinishedReport();
  const JobResult result = Aggregate(job);
  EXPECT_EQ(result.test_accuracy, -1);
  EXPECT_EQ(result.samples_per_second, 0);
  EXPECT_EQ(result.sent_bytes_per_step, 0);
}

TEST(SummariseTest, SlowestStepMeanLossSumOfRates) {
  Job job;
  job.spec.train.epochs = 5;
  job.training = absl::UnixEpoch();
  job.members.resize(2);
  job.members[0].prepared = PreparedReport();
  job.members[0].prepared->total_steps = 100;
  job.members[0].progress = {20, 1.0, 2.0, 0.1, 300, 0.2, 0, -1, false};
  job.members[1].progress = {25, 1.25, 4.0, 0.2, 200, 0.4, 0, -1, false};
  job.members[0].epochs = {{1, {1, 0, true, 8, 10}}, {2, {2, 0, true, 9, 10}}};
  job.members[1].epochs = {{1, {1, 0, true, 6, 10}}};
  const JobProgress progress = Summarise(job, absl::UnixEpoch() + absl::Seconds(10));
  EXPECT_EQ(progress.step, 20u);
  EXPECT_EQ(progress.total_steps, 100u);
  EXPECT_DOUBLE_EQ(progress.epoch, 1.0);
  EXPECT_DOUBLE_EQ(progress.loss, 3.0);
  EXPECT_DOUBLE_EQ(progress.samples_per_second, 500);
  EXPECT_DOUBLE_EQ(progress.comm_wait_ratio, 0.3);
  EXPECT_DOUBLE_EQ(progress.learning_rate, 0.2);
  EXPECT_DOUBLE_EQ(progress.test_accuracy, 0.7);  // the last epoch that all have evaluated
  EXPECT_DOUBLE_EQ(progress.eta_seconds, 40);     // 80 steps at 2 a second
}

TEST(SummariseTest, BeforeTheFirstReportNothingIsClaimed) {
  Job job;
  job.members.resize(1);
  const JobProgress progress = Summarise(job, absl::UnixEpoch());
  EXPECT_EQ(progress.eta_seconds, -1);
  EXPECT_EQ(progress.test_accuracy, -1);
  EXPECT_EQ(progress.loss, 0);
}

TEST(AggregateTest, WhatWasNotMeasuredIsNegativeNotZeroAndNotNan) {
  Job job = TwoFinished();
  for (JobMember& member : job.members) {
    member.finished->squared_distance = -1;
    member.finished->average_correct = member.finished->average_samples = 0;
  }
  const JobResult result = Aggregate(job);
  EXPECT_EQ(result.consensus_distance, -1);
  EXPECT_EQ(result.test_accuracy, -1);
  EXPECT_EQ(result.test_loss, -1);
}

EpochReport Reported(uint64_t correct, double seconds, double distance) {
  EpochReport report;
  report.train_loss = seconds;
  report.evaluated = true;
  report.test_correct = correct;
  report.test_samples = 100;
  report.step = 50;
  report.train_seconds = seconds;
  report.wait_seconds = 1;
  report.sent_bytes = correct * 10;
  report.partner_distance = distance;
  return report;
}

TEST(CurveTest, HoldsTheEpochsThatEveryMemberHasReported) {
  Job job;
  EXPECT_TRUE(Curve(job).empty());
  job.spec.exchange.payload = "weights";
  job.members.resize(2);
  job.members[0].epochs[1] = Reported(80, 2, 3);
  job.members[1].epochs[1] = Reported(90, 4, 5);
  job.members[0].epochs[2] = Reported(99, 9, 1);  // the other one is not there yet
  const std::vector<EpochPoint> curve = Curve(job);
  ASSERT_EQ(curve.size(), 1u);
  EXPECT_EQ(curve[0].epoch, 1u);
  EXPECT_EQ(curve[0].step, 50u);
  EXPECT_DOUBLE_EQ(curve[0].train_seconds, 4);  // the slowest
  EXPECT_DOUBLE_EQ(curve[0].sent_bytes, 850);
  EXPECT_DOUBLE_EQ(curve[0].train_loss, 3);
  EXPECT_DOUBLE_EQ(curve[0].test_accuracy, 0.85);
  EXPECT_DOUBLE_EQ(curve[0].comm_wait_ratio, (1.0 / 2 + 1.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(curve[0].consensus_distance, std::sqrt((9.0 + 25.0) / 2 / 4));
  job.members[1].epochs[1].evaluated = false;
  EXPECT_DOUBLE_EQ(Curve(job)[0].test_accuracy, -1);
}

TEST(CurveTest, DistancesOfPartnersTellOnlyWhereWeightsMeet) {
  Job job;
  job.members.resize(2);
  job.spec.exchange.payload = "weights";
  EXPECT_LT(ConsensusOfPartners(job, {-1, -1}), 0);
  EXPECT_DOUBLE_EQ(ConsensusOfPartners(job, {-1, 2}), 1);  // the mean is half way
  job.spec.exchange.payload = "gradients";
  EXPECT_LT(ConsensusOfPartners(job, {2, 2}), 0);
}

using Replica = std::vector<double>;

double SquaredDistance(const Replica& a, const Replica& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

struct Scatter {
  double from_mean = 0;       // root mean square
  std::vector<double> pairs;  // distances of all pairs
};

Scatter ScatterOf(const std::vector<Replica>& replicas) {
  Replica mean(replicas[0].size());
  for (const Replica& replica : replicas) {
    for (size_t i = 0; i < mean.size(); ++i) {
      mean[i] += replica[i] / static_cast<double>(replicas.size());
    }
  }
  Scatter scatter;
  for (size_t i = 0; i < replicas.size(); ++i) {
    scatter.from_mean += SquaredDistance(replicas[i], mean);
    for (size_t j = 0; j < i; ++j) {
      scatter.pairs.push_back(std::sqrt(SquaredDistance(replicas[i], replicas[j])));
    }
  }
  scatter.from_mean = std::sqrt(scatter.from_mean / static_cast<double>(replicas.size()));
  return scatter;
}

std::vector<Replica> RandomReplicas(size_t count) {
  Rng rng(7, "replicas", count);
  std::vector<Replica> replicas(count, Replica(50));
  for (Replica& replica : replicas) {
    for (double& weight : replica) weight = 2 * rng.Uniform() - 1;
  }
  return replicas;
}

TEST(CurveTest, TheDistancesOfAllPairsGiveThatFromTheMean) {
  for (const size_t p : {2u, 3u, 8u}) {
    Job job;
    job.members.resize(p);
    job.spec.exchange.payload = "weights";
    const Scatter scatter = ScatterOf(RandomReplicas(p));
    EXPECT_NEAR(ConsensusOfPartners(job, scatter.pairs), scatter.from_mean, 1e-12) << p;
  }
}

TEST(CurveTest, GroupsOfAHierarchyCountAsOneReplicaEach) {
  Job job;
  job.members.resize(6);
  job.spec.exchange.payload = "weights";
  job.spec.exchange.schedule = "hierarchical";
  const Scatter scatter = ScatterOf(RandomReplicas(3));
  for (size_t i = 0; i < 6; ++i) job.members[i].worker.host = "host" + std::to_string(i / 2);
  EXPECT_NEAR(ConsensusOfPartners(job, scatter.pairs), scatter.from_mean, 1e-12);
  job.spec.exchange.topology = "rack";
  for (size_t i = 0; i < 6; ++i) {
    job.members[i].worker.host = "one";
    job.members[i].worker.topology["rack"] = std::to_string(i % 3);
  }
  EXPECT_NEAR(ConsensusOfPartners(job, scatter.pairs), scatter.from_mean, 1e-12);
}

}  // namespace
}  // namespace gg
