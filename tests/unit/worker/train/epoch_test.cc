// SPDX-License-Identifier: Apache-2.0
//
// Which samples the training loop reads: over all workers every sample once per epoch, with the
// sample ring and without, for any number of workers; where the last batches have to be filled up,
// the filling alone is read twice.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/reference/reference_device.h"
#include "worker/train/trainer.h"
#include "worker/transport/inproc/inproc_transport.h"

namespace gg {
namespace {

// A network of one small block that writes down what it is shown; a sample's label is its number.
class ReadingNetwork final : public Network {
 public:
  ReadingNetwork(Device& device, int64_t batch_size) : batch_size_(batch_size) {
    TensorInfo tensor;
    tensor.name = "weight";
    tensor.shape = {4};
    BlockInfo block;
    block.name = "layer";
    block.tensors.push_back(std::move(tensor));
    arena_ = ParamArena::Create(device, {block}, 0).value();
  }
  ParamArena& arena() override { return *arena_; }
  int64_t batch_size() const override { return batch_size_; }
  absl::StatusOr<LossResult> Forward(uint64_t, ConstFlat x, absl::Span<const int32_t> labels,
                                     BlockNeeded needed) override {
    if (absl::Status status = needed(0); !status.ok()) return status;
    for (size_t i = 0; i < labels.size(); ++i) {
      // The pixels belong to the label: a sample is never torn.
      EXPECT_NEAR(x[i], static_cast<float>(labels[i] % 256) / 255.0f, 1e-6);
      read.push_back(labels[i]);
    }
    return LossResult{1.0 * static_cast<double>(labels.size()), 0};
  }
  absl::Status Backward(GradientReady ready) override { return ready(0); }
  absl::StatusOr<LossResult> Evaluate(ConstFlat, absl::Span<const int32_t> labels) override {
    return LossResult{1.0 * static_cast<double>(labels.size()), 0};
  }

  std::vector<int32_t> read;

 private:
  const int64_t batch_size_;
  std::unique_ptr<ParamArena> arena_;
};

class SilentReporter : public Reporter {
 public:
  void OnProgress(const TrainProgress&) override {}
  void OnEpoch(const EpochSummary&) override {}
  void OnIncident(const PartnerIncident& incident) override { ADD_FAILURE() << incident.detail; }
  void OnRingTrouble(uint64_t, const absl::Status& why) override { ADD_FAILURE() << why; }
};

std::shared_ptr<const Dataset> Numbered(int64_t count) {
  auto set = std::make_shared<Dataset>();
  set->shape = {1, 1, 1};
  set->classes = count;
  for (int64_t i = 0; i < count; ++i) {
    set->labels.push_back(static_cast<int32_t>(i));
    set->pixels.push_back(static_cast<uint8_t>(i % 256));
  }
  return set;
}

// What each worker has read, in order.
std::vector<std::vector<int32_t>> Train(const JobSpec& spec, int64_t total, int size) {
  const auto train = Numbered(total), test = Numbered(3);
  auto wire = MakeInprocNetwork();
  std::vector<std::unique_ptr<Transport>> transports;
  View view;
  view.number = 1;
  for (Rank r = 0; r < size; ++r) {
    transports.push_back(wire->MakeTransport({}));
    view.members.push_back({absl::StrCat("w", r), transports.back()->local_address()});
  }
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<ReadingNetwork>> networks;
  std::vector<std::unique_ptr<PeerGroup>> groups;
  for (Rank r = 0; r < size; ++r) {
    devices.push_back(MakeReferenceDevice());
    networks.push_back(std::make_unique<ReadingNetwork>(*devices.back(), spec.train.batch_size));
    groups.push_back(transports[static_cast<size_t>(r)]->Join("job", view, r).value());
  }
  std::vector<std::thread> threads;
  for (Rank r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      SilentReporter reporter;
      TrainerContext context;
      context.spec = spec;
      context.size = size;
      context.rank = r;
      context.device = devices[static_cast<size_t>(r)].get();
      context.network = networks[static_cast<size_t>(r)].get();
      context.group = groups[static_cast<size_t>(r)].get();
      context.train = train;
      context.test = test;
      context.clock = &RealClock();
      context.metrics = &NullMetricSink();
      context.reporter = &reporter;
      auto trainer = Trainer::Make(context);
      ASSERT_TRUE(trainer.ok()) << trainer.status();
      const auto result = (*trainer)->Run();
      ASSERT_TRUE(result.ok()) << result.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  groups.clear();
  std::vector<std::vector<int32_t>> read;
  for (const auto& network : networks) read.push_back(network->read);
  return read;
}

class Epochs : public ::testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  // Times each sample was read, over all workers, by epoch.
  static std::vector<std::map<int32_t, int>> Count(const std::vector<std::vector<int32_t>>& read,
                                                   size_t epochs) {
    std::vector<std::map<int32_t, int>> count(epochs);
    for (const auto& labels : read) {
      const size_t length = labels.size() / epochs;
      for (size_t i = 0; i < labels.size(); ++i) ++count[i / length][labels[i]];
    }
    return count;
  }
  static JobSpec Spec() {
    JobSpec spec;
    spec.data.mean = 0;
    spec.data.stddev = 1;
    spec.data.exchange = std::get<1>(GetParam());
    spec.train.epochs = 5;
    spec.train.batch_size = 4;
    spec.train.seed = 3;
    spec.exchange.deadline_seconds = 60;
    return spec;
  }
  static int size() { return std::get<0>(GetParam()); }
};

TEST_P(Epochs, EverySampleIsReadOnceInEachByAllWorkersTogether) {
  const int64_t total = 4 * 6 * size();
  const auto epochs = Count(Train(Spec(), total, size()), 5);
  for (size_t e = 0; e < epochs.size(); ++e) {
    EXPECT_EQ(epochs[e].size(), static_cast<size_t>(total)) << "epoch " << e;
    for (const auto& [sample, times] : epochs[e]) {
      EXPECT_EQ(times, 1) << "sample " << sample << " in epoch " << e;
    }
  }
}

TEST_P(Epochs, FillingUpTheLastBatchesLeavesNoSampleOut) {
  for (const int64_t total : {int64_t{size()}, int64_t{7} * size() + 1, int64_t{67}}) {
    const auto epochs = Count(Train(Spec(), total, size()), 5);
    const int64_t read = size() * 4 * StepsPerEpoch(total, size(), 4);
    for (size_t e = 0; e < epochs.size(); ++e) {
      EXPECT_EQ(epochs[e].size(), static_cast<size_t>(total)) << "epoch " << e;
      int64_t sum = 0;
      for (const auto& [sample, times] : epochs[e]) sum += times;
      EXPECT_EQ(sum, read);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SizesAndExchanges, Epochs,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5),
                                            ::testing::Values("ring", "none")),
                         [](const auto& suite) {
                           return absl::StrCat("p", std::get<0>(suite.param), "_",
                                               std::get<1>(suite.param));
                         });

}  // namespace
}  // namespace gg
