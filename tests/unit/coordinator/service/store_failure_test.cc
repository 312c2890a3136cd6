// SPDX-License-Identifier: Apache-2.0
//
// A store that cannot be written: no promise is given that cannot be kept, and running jobs go on.
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/service/fake_worker.h"
#include "tests/unit/coordinator/service/server_fixture.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// What the test keeps a hand on: the contents outlive the server.
struct Disk {
  std::unique_ptr<JobStore> store = MakeMemoryStore();
  std::atomic<bool> full{false};
};

class FailingStore final : public JobStore {
 public:
  explicit FailingStore(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}
  absl::Status Append(absl::Span<const Event> events) override {
    if (disk_->full) return absl::ResourceExhaustedError("writing an event: 28");
    return disk_->store->Append(events);
  }
  absl::Status Probe() override {
    return disk_->full ? absl::ResourceExhaustedError("probing: 28") : absl::OkStatus();
  }
  absl::Status Replay(absl::FunctionRef<absl::Status(const Event&)> visit) override {
    return disk_->store->Replay(visit);
  }
  int64_t Bytes() const override { return disk_->store->Bytes(); }
  absl::string_view name() const override { return "failing"; }

 private:
  const std::shared_ptr<Disk> disk_;
};

using StoreFailureTest = ServerFixture;

TEST_F(StoreFailureTest, SubmitsAreRefusedRunningJobsGoOnAndTheStoreCatchesUp) {
  const auto disk = std::make_shared<Disk>();
  Start(TestOptions(), std::make_unique<FailingStore>(disk));
  FakeWorker worker(channel_, {.id = "w"});
  v1::Job job;
  ASSERT_TRUE(Submit(Spec("first"), "1", &job).ok());
  const auto assign = worker.NextOf(v1::CoordinatorMessage::kAssign);
  ASSERT_TRUE(assign.has_value());

  disk->full = true;
  v1::Job refused;
  const grpc::Status status = Submit(Spec("second"), "2", &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(),
            "the coordinator's store failing cannot be written: disk is full; nothing was changed");
  EXPECT_EQ(Get("second", &job).error_code(), grpc::StatusCode::NOT_FOUND);

  worker.Prepared(assign->assign());
  const auto begin = worker.NextOf(v1::CoordinatorMessage::kBegin);
  ASSERT_TRUE(begin.has_value());
  EXPECT_FALSE(server_->Ready().ok());
  EXPECT_TRUE(server_->Live().ok());
  worker.Finished(begin->begin(), 1, 2);
  int messages = 0;
  ASSERT_TRUE(WatchToTheEnd("first", &job, &messages).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Submit(Spec("second"), "2", &refused).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);

  disk->full = false;
  ASSERT_TRUE(Submit(Spec("second", 5, 5), "2", &job).ok());
  EXPECT_TRUE(server_->Ready().ok());
  server_.reset();
  Start(TestOptions(), std::make_unique<FailingStore>(disk));
  ASSERT_TRUE(Get("first", &job).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_DOUBLE_EQ(job.result().test_accuracy(), 0.5);
  ASSERT_TRUE(Get("second", &job).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_PENDING);
}

// What the log says of the store.
class StoreLog {
 public:
  void Add(absl::string_view line) {
    MutexLock lock(&monitor_.mu);
    if (absl::StrContains(line, "the coordinator's store")) lines_.emplace_back(line);
    monitor_.changed.NotifyAll();
  }
  std::vector<std::string> WaitFor(size_t count) {
    MutexLock lock(&monitor_.mu);
    RealClock().Await(
        monitor_,
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return lines_.size() >= count; },
        RealClock().Now() + absl::Seconds(60));
    return lines_;
  }

 private:
  Monitor monitor_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(monitor_.mu);
};

TEST_F(StoreFailureTest, RefusedRequestsAloneMakeItNotReadyUntilTheStoreWorksAgainByItself) {
  const auto disk = std::make_shared<Disk>();
  StoreLog log;
  ServerOptions options = TestOptions();
  options.loop.probe_interval = absl::Milliseconds(10);
  options.loop.log = [&](bool, absl::string_view line) { log.Add(line); };
  Start(std::move(options), std::make_unique<FailingStore>(disk));
  v1::Job job;
  EXPECT_FALSE(Get("nobody", &job).ok());  // answered by the loop: from now on it serves
  EXPECT_TRUE(server_->Ready().ok());

  disk->full = true;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Submit(Spec("lenet"), "1", &job).ok());
  EXPECT_THAT(server_->Ready().message(),
              HasSubstr("store failing cannot be written: disk is full"));
  EXPECT_TRUE(server_->Live().ok());
  EXPECT_THAT(log.WaitFor(1), SizeIs(1));  // not one for each request

  disk->full = false;  // and nobody asks for anything
  const std::vector<std::string> lines = log.WaitFor(2);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[1], HasSubstr("works again"));
  EXPECT_TRUE(server_->Ready().ok());
  server_.reset();  // before the log
}

}  // namespace
}  // namespace gg
