// SPDX-License-Identifier: Apache-2.0
//
// Whole jobs on the reference device, several workers as threads over the in-process transport.
#include "worker/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/data/batch_source.h"
#include "worker/optim/optimizer.h"
#include "worker/train/phase_timer.h"
#include "worker/transport/inproc/inproc_transport.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

JobSpec SmallJob() {
  JobSpec spec;
  spec.name = "small";
  spec.model.name = "mlp";
  spec.model.hidden = {16};
  spec.data.format = "synthetic";
  spec.data.shape = {1, 8, 8};
  spec.data.classes = 4;
  spec.data.train_samples = 256;
  spec.data.test_samples = 100;
  spec.learning_rate.base = 0.05;
  spec.train.epochs = 3;
  spec.train.batch_size = 16;
  spec.train.seed = 7;
  spec.exchange.deadline_seconds = 30;  // never reached: what is late would not be deterministic
  return spec;
}

class Recorder : public Reporter {
 public:
  void OnProgress(const TrainProgress& p) override {
    progress.push_back(p);
    if (on_progress) on_progress();
  }
  void OnEpoch(const EpochSummary& e) override { epochs.push_back(e); }
  void OnIncident(const PartnerIncident& i) override { incidents.push_back(i); }
  void OnRingTrouble(uint64_t, const absl::Status& why) override { troubles.push_back(why); }
  std::vector<absl::Status> troubles;
  std::vector<TrainProgress> progress;
  std::vector<EpochSummary> epochs;
  std::vector<PartnerIncident> incidents;
  std::function<void()> on_progress;
};

struct WorkerRun {
  std::unique_ptr<Device> device;  // outlives the links, which may still hold its buffers
  absl::Status status;
  TrainingResult result;
  Recorder recorder;
  std::vector<float> weights;
};

struct Data {
  std::shared_ptr<const Dataset> train, test;
};

Data Load(const JobSpec& spec) {
  auto train = LoadDataset(spec.data, Split::kTrain, spec.train.seed);
  auto test = LoadDataset(spec.data, Split::kTest, spec.train.seed);
  EXPECT_TRUE(train.ok()) << train.status();
  EXPECT_TRUE(test.ok()) << test.status();
  return {*train, *test};
}

// `batches` as TrainerContext::batches.
std::unique_ptr<Network> Build(Device& device, const JobSpec& spec, Rank rank,
                               const std::vector<int64_t>& batches = {}) {
  NetworkOptions options;
  options.model = spec.model;
  options.input = {spec.data.shape[0], spec.data.shape[1], spec.data.shape[2]};
  options.classes = spec.data.classes;
  options.batch_size = batches.empty() ? spec.train.batch_size : batches[static_cast<size_t>(rank)];
  options.seed = spec.train.seed;
  options.rank = rank;
  auto network = MakeNetwork(device, options);
  EXPECT_TRUE(network.ok()) << network.status();
  return *std::move(network);
}

void RunOne(const JobSpec& spec, const Data& data, Rank rank, int size, PeerGroup* group,
            WorkerRun& run, const std::vector<int64_t>& batches = {}) {
  auto device = MakeDevice("reference", {});
  ASSERT_TRUE(device.ok()) << device.status();
  run.device = *std::move(device);
  auto network = Build(*run.device, spec, rank, batches);
  TrainerContext context;
  context.spec = spec;
  context.size = size;
  context.rank = rank;
  context.device = run.device.get();
  context.batches = batches;
  context.network = network.get();
  context.group = group;
  context.train = data.train;
  context.test = data.test;
  context.clock = &RealClock();
  context.metrics = &NullMetricSink();
  context.reporter = &run.recorder;
  auto trainer = Trainer::Make(context);
  run.status = trainer.status();
  if (!trainer.ok()) return;
  auto result = (*trainer)->Run();
  run.status = result.status();
  if (!result.ok()) return;
  run.result = *result;
  const Flat weights = network->arena().weights();
  run.weights.assign(weights.begin(), weights.end());
}

std::vector<WorkerRun> RunJob(const JobSpec& spec, int size,
                              const std::vector<int64_t>& batches = {}) {
  std::vector<WorkerRun> runs(static_cast<size_t>(size));
  const Data data = Load(spec);
  auto wire = MakeInprocNetwork();
  std::vector<std::unique_ptr<Transport>> transports;
  View view;
  view.number = 1;
  for (Rank r = 0; r < size; ++r) {
    transports.push_back(wire->MakeTransport({}));
    view.members.push_back({absl::StrCat("w", r), transports.back()->local_address()});
  }
  std::vector<std::unique_ptr<PeerGroup>> groups;
  for (Rank r = 0; r < size; ++r) {
    auto group = transports[static_cast<size_t>(r)]->Join("job", view, r);
    EXPECT_TRUE(group.ok()) << group.status();
    groups.push_back(*std::move(group));
  }
  std::vector<std::thread> threads;
  for (Rank r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      RunOne(spec, data, r, size, groups[static_cast<size_t>(r)].get(),
             runs[static_cast<size_t>(r)], batches);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const WorkerRun& run : runs) EXPECT_TRUE(run.status.ok()) << run.status;
  return runs;
}

class TrainerOfSize : public ::testing::TestWithParam<int> {};

TEST_P(TrainerOfSize, LearnsSyntheticDataAndFillsItsResult) {
  const int size = GetParam();
  const JobSpec spec = SmallJob();
  const auto runs = RunJob(spec, size);
  const uint64_t steps = 3 * static_cast<uint64_t>(StepsPerEpoch(256, size, 16));
  uint64_t scored = 0;
  for (const WorkerRun& run : runs) {
    const TrainingResult& r = run.result;
    EXPECT_EQ(r.steps, steps);
    EXPECT_EQ(r.epochs, 3);
    EXPECT_EQ(r.samples, steps * 16);
    ASSERT_EQ(run.recorder.epochs.size(), 3u);
    EXPECT_LT(run.recorder.epochs[2].train_loss, run.recorder.epochs[0].train_loss);
    EXPECT_TRUE(run.recorder.epochs[2].evaluated);
    EXPECT_EQ(run.recorder.epochs[2].step, r.steps);
    EXPECT_LE(run.recorder.epochs[2].train_seconds, r.train_seconds);
    EXPECT_GE(run.recorder.epochs[2].sent_bytes, run.recorder.epochs[1].sent_bytes);
    EXPECT_LE(run.recorder.epochs[2].sent_bytes, r.sent_bytes);
    EXPECT_EQ(run.recorder.epochs[2].test_samples, r.average_samples);
    EXPECT_GT(r.replica_accuracy, 0.25);  // better than guessing one of four
    EXPECT_GT(r.squared_parameter_norm, 0);
    EXPECT_EQ(r.model_checksum, runs[0].result.model_checksum);  // all hold the average
    EXPECT_EQ(r.skipped_exchanges, 0u);
    EXPECT_EQ(r.sent_bytes > 0, size > 1);
    EXPECT_EQ(r.sent_messages > 0, size > 1);
    EXPECT_GT(r.parameter_count, 64u * 16u);
    EXPECT_TRUE(run.recorder.incidents.empty());
    ASSERT_FALSE(run.recorder.progress.empty());
    EXPECT_TRUE(run.recorder.progress.back().completing);
    EXPECT_EQ(run.recorder.progress.back().step, steps);
    EXPECT_EQ(r.phase_seconds.size(), kPhaseCount);  // that they add up: step_loop_test.cc
    scored += r.average_samples;
  }
  EXPECT_EQ(scored, 100u);  // the slices cover the test set once
}

INSTANTIATE_TEST_SUITE_P(Sizes, TrainerOfSize, ::testing::Values(1, 2, 3, 4));

TEST(Trainer, OneWorkerEqualsSequentialSgdBitForBit) {
  JobSpec spec = SmallJob();
  spec.optimizer.weight_decay = 0.001;
  spec.learning_rate.warmup_epochs = 1;
  const auto runs = RunJob(spec, 1);

  // The textbook loop: one batch, one gradient, one update, nothing else.
  const Data data = Load(spec);
  auto device = MakeDevice("reference", {});
  ASSERT_TRUE(device.ok());
  auto network = Build(**device, spec, 0);
  auto stream = (*device)->MakeStream();
  ASSERT_TRUE(stream.ok());
  auto optimizer = MakeOptimizer(spec.optimizer, **device, **stream, network->arena());
  ASSERT_TRUE(optimizer.ok());
  const ShardStore store(*data.train, {0, 256});
  BatchSourceOptions options;
  options.batch_size = 16;
  options.steps_per_epoch = 16;
  options.mean = spec.data.mean;
  options.stddev = spec.data.stddev;
  options.seed = spec.train.seed;
  auto source = MakeBatchSource(store, options);
  ASSERT_TRUE(source.ok());
  for (uint64_t step = 0; step < 48; ++step) {
    (*source)->StartNext(step);
    auto batch = (*source)->Next(step, absl::InfiniteFuture());
    ASSERT_TRUE(batch.ok()) << batch.status();
    const auto pass = [](BlockIndex) { return absl::OkStatus(); };
    ASSERT_TRUE(network->Forward(step, batch->x, batch->labels, pass).ok());
    ASSERT_TRUE(network->Backward(pass).ok());
    const double rate = LearningRate(spec.learning_rate, step, 16, 48, 1);
    for (BlockIndex b = 0; b < network->arena().block_count(); ++b) {
      ASSERT_TRUE((*optimizer)->Update(b, step, rate).ok());
    }
  }
  const Flat expected = network->arena().weights();
  EXPECT_EQ(runs[0].weights, std::vector<float>(expected.begin(), expected.end()));
  EXPECT_EQ(runs[0].result.model_checksum, WeightsChecksum(network->arena()));
}

// Two optimizers with two state vectors and one whose state a clipped gradient would show in.
TEST(Trainer, EveryOptimizerLearnsAloneAndInACluster) {
  for (const char* name : {"sgd-pytorch", "adam", "adamw", "lars", "lamb"}) {
    SCOPED_TRACE(name);
    JobSpec spec = SmallJob();
    spec.optimizer.name = name;
    spec.optimizer.weight_decay = 1e-4;
    spec.optimizer.weight_decays = {{"*.bias", 0}};
    spec.optimizer.clip_norm = 5;
    const bool adaptive = spec.optimizer.name[0] == 'a' || spec.optimizer.name == "lamb";
    if (adaptive) spec.learning_rate.base = 0.005;
    if (spec.optimizer.name == "lars") spec.optimizer.trust_coefficient = 0.1;
    for (const int size : {1, 3}) {
      const auto first = RunJob(spec, size), second = RunJob(spec, size);
      for (size_t r = 0; r < first.size(); ++r) {
        const auto& epochs = first[r].recorder.epochs;
        EXPECT_LT(epochs[2].train_loss, epochs[0].train_loss);
        EXPECT_EQ(first[r].weights, second[r].weights) << "rank " << r << " of " << size;
        EXPECT_EQ(first[r].result.model_checksum, first[0].result.model_checksum);
      }
    }
  }
}

TEST(Trainer, AClippedGradientChangesTheRunAndALooseBoundDoesNot) {
  JobSpec spec = SmallJob();
  const auto weights = [&] { return RunJob(spec, 2)[0].weights; };
  const std::vector<float> plain = weights();
  spec.optimizer.clip_norm = 1e6;
  spec.optimizer.clip_value = 1e6;
  EXPECT_EQ(weights(), plain);
  spec.optimizer.clip_norm = 0.01;
  EXPECT_NE(weights(), plain);
  spec.optimizer.clip_norm = 0;
  spec.optimizer.clip_value = 1e-4;
  EXPECT_NE(weights(), plain);
}

TEST(Trainer, APatternThatMatchesNothingIsToldBeforeTheFirstStep) {
  JobSpec spec = SmallJob();
  spec.optimizer.weight_decays = {{"bn*", 0}};
  WorkerRun run;
  RunOne(spec, Load(spec), 0, 1, nullptr, run);
  EXPECT_TRUE(absl::IsInvalidArgument(run.status)) << run.status;
  EXPECT_THAT(std::string(run.status.message()), ::testing::HasSubstr("fc1.weight, fc1.bias"));
}

TEST(Trainer, SameSeedGivesTheSameBitsTwiceOnFourWorkers) {
  JobSpec spec = SmallJob();
  spec.exchange.overlap = "layerwise";
  const auto first = RunJob(spec, 4);
  const auto second = RunJob(spec, 4);
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(first[r].weights, second[r].weights) << "rank " << r;
    EXPECT_EQ(first[r].result.squared_distance, second[r].result.squared_distance);
    for (size_t e = 0; e < 3; ++e) {
      EXPECT_EQ(first[r].recorder.epochs[e].train_loss, second[r].recorder.epochs[e].train_loss);
      EXPECT_EQ(first[r].recorder.epochs[e].test_correct,
                second[r].recorder.epochs[e].test_correct);
    }
  }
  spec.train.seed = 8;
  EXPECT_NE(RunJob(spec, 4)[0].weights, first[0].weights);
}

TEST(Trainer, StepLimitEndsInsideAnEpoch) {
  JobSpec spec = SmallJob();
  spec.train.max_steps = 5;
  const auto runs = RunJob(spec, 2);
  for (const WorkerRun& run : runs) {
    EXPECT_EQ(run.result.steps, 5u);
    EXPECT_EQ(run.result.epochs, 5.0 / 8.0);
    ASSERT_EQ(run.recorder.epochs.size(), 1u);
    EXPECT_EQ(run.recorder.epochs[0].epoch, 1u);
  }
}

TEST(Trainer, UnequalBatchesEndTheirEpochsTogetherAndInOneModel) {
  JobSpec spec = SmallJob();
  spec.exchange.algorithm = "cocod";
  spec.data.exchange = "none";
  const std::vector<int64_t> batches = {30, 2, 16};
  const auto runs = RunJob(spec, 3, batches);
  const uint64_t steps = 3 * 6;  // 256 samples in steps of 48
  for (size_t r = 0; r < 3; ++r) {
    const WorkerRun& run = runs[r];
    EXPECT_EQ(run.result.steps, steps);
    EXPECT_EQ(run.result.epochs, 3);
    EXPECT_EQ(run.result.samples, steps * static_cast<uint64_t>(batches[r]));
    EXPECT_EQ(run.result.model_checksum, runs[0].result.model_checksum);
    EXPECT_LT(run.recorder.epochs[2].train_loss, run.recorder.epochs[0].train_loss);
  }
  // The final model is nearest to the replica that has seen the most.
  EXPECT_LT(runs[0].result.squared_distance, runs[1].result.squared_distance);
  EXPECT_LT(runs[0].result.squared_distance, runs[2].result.squared_distance);
}

TEST(Trainer, EqualBatchesAreTheDefaultBitForBit) {
  JobSpec spec = SmallJob();
  spec.exchange.algorithm = "cocod";
  spec.data.exchange = "none";
  EXPECT_EQ(RunJob(spec, 3, {16, 16, 16})[1].weights, RunJob(spec, 3)[1].weights);
}

TEST(Trainer, MoreWorkersThanABatchPerShardStillFinish) {
  JobSpec spec = SmallJob();
  spec.data.train_samples = 1003 % 50;  // 3 samples
  spec.train.epochs = 2;
  for (const WorkerRun& run : RunJob(spec, 3)) EXPECT_EQ(run.result.steps, 2u);
}

TEST(Trainer, StopEndsTheRunWithItsReason) {
  JobSpec spec = SmallJob();
  spec.train.epochs = 100000;
  const Data data = Load(spec);
  auto device = MakeDevice("reference", {});
  ASSERT_TRUE(device.ok());
  auto network = Build(**device, spec, 0);
  Recorder recorder;
  TrainerContext context;
  context.spec = spec;
  context.device = device->get();
  context.network = network.get();
  context.train = data.train;
  context.test = data.test;
  context.clock = &RealClock();
  context.metrics = &NullMetricSink();
  context.reporter = &recorder;
  auto trainer = Trainer::Make(context);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  recorder.on_progress = [&] {
    (*trainer)->Stop(absl::CancelledError("cancelled by the user"));
    (*trainer)->Stop(absl::InternalError("too late"));
  };
  const auto result = (*trainer)->Run();
  EXPECT_EQ(result.status(), absl::CancelledError("cancelled by the user"));
  EXPECT_EQ(recorder.progress.size(), 1u);
}

TEST(Trainer, DivergenceNamesTheStepAndARemedy) {
  JobSpec spec = SmallJob();
  spec.learning_rate.base = 1e30;
  const Data data = Load(spec);
  WorkerRun run;
  RunOne(spec, data, 0, 1, nullptr, run);
  EXPECT_EQ(run.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(run.status.message()), HasSubstr("step "));
  EXPECT_THAT(std::string(run.status.message()), HasSubstr("learning_rate"));
}

TEST(Trainer, RefusesMoreWorkersThanSamples) {
  JobSpec spec = SmallJob();
  spec.data.train_samples = 2;
  const Data data = Load(spec);
  WorkerRun run;
  RunOne(spec, data, 0, 3, nullptr, run);
  EXPECT_EQ(run.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(run.status.message()), HasSubstr("2 samples"));
}

}  // namespace
}  // namespace gg
