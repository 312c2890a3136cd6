// SPDX-License-Identifier: Apache-2.0
#include "worker/train/batch_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/transport/inproc/inproc_transport.h"

namespace gg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Moves when it is told to.
class StillClock : public Clock {
 public:
  absl::Time Now() override { return now; }
  bool Await(Monitor&, absl::FunctionRef<bool()> ready, absl::Time) override { return ready(); }
  absl::Time now = absl::FromUnixSeconds(1000);
};

// Takes its time for each pass, trains buffers as batch normalisation does.
class TimedNetwork : public Network {
 public:
  TimedNetwork(StillClock& clock, Device& device, std::vector<absl::Duration> steps)
      : clock_(clock), steps_(std::move(steps)) {
    BlockInfo block{.name = "fc1"};
    block.tensors.push_back({.name = "fc1.weight", .shape = {3}});
    arena_ = ParamArena::Create(device, {block}, 2).value();
    arena_->weights()[1] = 0.5f;
    arena_->buffers()[0] = 0.25f;
  }
  ParamArena& arena() override { return *arena_; }
  int64_t batch_size() const override { return 8; }
  absl::StatusOr<LossResult> Forward(uint64_t, ConstFlat x, absl::Span<const int32_t> labels,
                                     BlockNeeded) override {
    EXPECT_EQ(x.size(), 8u * 6);
    EXPECT_EQ(labels.size(), 8u);
    clock_.now += steps_[std::min(done++, steps_.size() - 1)];
    arena_->buffers()[0] += 1;
    return LossResult();
  }
  absl::Status Backward(GradientReady) override { return absl::OkStatus(); }
  absl::StatusOr<LossResult> Evaluate(ConstFlat, absl::Span<const int32_t>) override {
    return absl::UnimplementedError("not asked for");
  }
  size_t done = 0;  // steps

 private:
  StillClock& clock_;
  const std::vector<absl::Duration> steps_;
  std::unique_ptr<ParamArena> arena_;
};

class MeasureSpeedTest : public ::testing::Test {
 protected:
  MeasureSpeedTest() : device_(MakeDevice("reference", {}).value()) {
    data_.shape = {1, 2, 3};
    data_.classes = 2;
    data_.pixels.resize(5 * 6);  // fewer than a batch
    data_.labels.resize(5);
  }
  absl::StatusOr<double> Measure(TimedNetwork& network) {
    return MeasureSpeed(network, data_, 0, 1, clock_, [this] { return may_continue_; });
  }
  const std::unique_ptr<Device> device_;
  StillClock clock_;
  Dataset data_;
  absl::Status may_continue_;
};

TEST_F(MeasureSpeedTest, CountsTenStepsWithoutTheFirstTwo) {
  TimedNetwork network(clock_, *device_,
                       {absl::Seconds(9), absl::Seconds(5), absl::Milliseconds(250)});
  const auto speed = Measure(network);
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_EQ(*speed, 32);
  EXPECT_EQ(network.done, 12u);
}

TEST_F(MeasureSpeedTest, TakesAtLeastASecond) {
  TimedNetwork network(clock_, *device_, {absl::Milliseconds(2)});
  const auto speed = Measure(network);
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_EQ(*speed, 4000);
  EXPECT_EQ(network.done, 502u);
}

TEST_F(MeasureSpeedTest, LeavesWeightsAndBuffersAsTheyAre) {
  TimedNetwork network(clock_, *device_, {absl::Milliseconds(250)});
  ASSERT_TRUE(Measure(network).ok());
  EXPECT_EQ(network.arena().buffers()[0], 0.25f);
  EXPECT_EQ(network.arena().weights()[1], 0.5f);
}

TEST_F(MeasureSpeedTest, EndsWhenTheJobIsStopped) {
  TimedNetwork network(clock_, *device_, {absl::Milliseconds(250)});
  may_continue_ = absl::CancelledError("by the user");
  const absl::Status status = Measure(network).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_EQ(network.done, 0u);
}

TEST(ShareBatches, InProportionAndTheSizeOfTheJobOnTheAverage) {
  EXPECT_THAT(ShareBatches({1000, 1000}, 64, 1).value(), ElementsAre(64, 64));
  EXPECT_THAT(ShareBatches({3000, 1000}, 64, 1).value(), ElementsAre(96, 32));
  EXPECT_THAT(ShareBatches({0.5f, 1.5f}, 2, 1).value(), ElementsAre(1, 3));
  EXPECT_THAT(ShareBatches({0, 1e6f}, 8, 1).value(), ElementsAre(1, 15)) << "nobody is left out";
  EXPECT_THAT(ShareBatches({INFINITY, 1}, 8, 1).value(), ElementsAre(15, 1));
  EXPECT_EQ(ShareBatches({1, NAN}, 8, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ShareBatches, NobodyGetsLessThanTheNetworkNeeds) {
  EXPECT_THAT(ShareBatches({0, 1e6f}, 8, 2).value(), ElementsAre(2, 14));
  EXPECT_THAT(ShareBatches({0, 0, 1e6f, 1e6f}, 3, 2).value(), ElementsAre(2, 2, 4, 4));
  EXPECT_THAT(ShareBatches({1, 1e6f}, 2, 2).value(), ElementsAre(2, 2));
  EXPECT_EQ(ShareBatches({1, 1}, 1, 2).status().code(), absl::StatusCode::kInvalidArgument);
}

class SpeedTableTest : public ::testing::Test {
 protected:
  static constexpr int kSize = 3;
  SpeedTableTest() : device_(MakeDevice("reference", {}).value()), wire_(MakeInprocNetwork()) {
    View view;
    view.number = 1;
    for (Rank r = 0; r < kSize; ++r) {
      transports_.push_back(wire_->MakeTransport({}));
      view.members.push_back({absl::StrCat("w", r), transports_.back()->local_address()});
    }
    for (Rank r = 0; r < kSize; ++r) groups_.push_back(*transports_[r]->Join("job", view, r));
  }
  const std::unique_ptr<Device> device_;
  const std::unique_ptr<InprocNetwork> wire_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
};

TEST_F(SpeedTableTest, EverybodyLearnsTheSameValues) {
  std::vector<std::vector<float>> tables(kSize);
  std::vector<std::thread> threads;
  for (Rank r = 0; r < kSize; ++r) {
    threads.emplace_back([&, r] {
      SpeedTable table(*device_, *groups_[r], RealClock());
      auto speeds = table.Run(1000.1 * (r + 1), absl::InfiniteFuture());
      ASSERT_TRUE(speeds.ok()) << speeds.status();
      tables[r] = *std::move(speeds);
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(tables[0].size(), 3u);
  for (Rank r = 0; r < kSize; ++r) {
    EXPECT_NEAR(tables[0][r], 1000.1 * (r + 1), 1e-3);
    EXPECT_EQ(tables[r], tables[0]);
  }
}

TEST_F(SpeedTableTest, AMissingWorkerIsNamedAtTheDeadline) {
  SpeedTable table(*device_, *groups_[0], RealClock());
  const auto status = table.Run(1, RealClock().Now() + absl::Milliseconds(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("w2"));
}

TEST_F(SpeedTableTest, AbortEndsItWithItsReason) {
  SpeedTable table(*device_, *groups_[0], RealClock());
  table.Abort(absl::CancelledError("by the user"));
  table.Abort(absl::InternalError("too late"));
  EXPECT_EQ(table.Run(1, absl::InfiniteFuture()).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace gg
