// SPDX-License-Identifier: Apache-2.0
//
// A store that cannot be written: no promise is given that cannot be kept, and running jobs go on.
#include <atomic>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/service/fake_worker.h"
#include "tests/unit/coordinator/service/server_fixture.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using ::testing::HasSubstr;

// What the test keeps a hand on: the contents outlive the server.
struct Disk {
  std::unique_ptr<JobStore> store = MakeMemoryStore();
  std::atomic<bool> full{false};
};

class FailingStore final : public JobStore {
 public:
  explicit FailingStore(std::shared_ptr<Disk> disk) : disk_(std::move(disk)) {}
  absl::Status Append(absl::Span<const Event> events) override {
    if (disk_->full) return absl::ResourceExhaustedError("store: the disk is full");
    return disk_->store->Append(events);
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
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("the disk is full"));
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
  EXPECT_EQ(Submit(Spec("second"), "2", &refused).error_code(), grpc::StatusCode::UNAVAILABLE);

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

}  // namespace
}  // namespace gg
