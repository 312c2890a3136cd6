// SPDX-License-Identifier: Apache-2.0
//
// The loop with many threads around it and no network: what the thread sanitizer can see in full.
#include "coordinator/service/loop.h"

#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/memory_store.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

// Something that threads hand to each other.
template <typename T>
class Mailbox {
 public:
  void Put(T value) {
    MutexLock lock(&monitor_.mu);
    values_.push_back(std::move(value));
    monitor_.changed.NotifyAll();
  }
  std::optional<T> Take() {
    MutexLock lock(&monitor_.mu);
    RealClock().Await(
        monitor_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return !values_.empty(); },
        RealClock().Now() + absl::Seconds(60));
    if (values_.empty()) return std::nullopt;
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  Monitor monitor_;
  std::deque<T> values_ ABSL_GUARDED_BY(monitor_.mu);
};

class FakeWorkerPort final : public WorkerPort {
 public:
  void Send(v1::CoordinatorMessage message) override { inbox.Put(std::move(message)); }
  void HangUp(const absl::Status& why) override { ended.Put(why); }
  Mailbox<v1::CoordinatorMessage> inbox;
  Mailbox<absl::Status> ended;
};

class FakeWatchPort final : public WatchPort {
 public:
  void Show(v1::WatchJobResponse response) override { last.Put(response.job()); }
  void End(const absl::Status& status) override { ended.Put(status); }
  bool gone() override { return false; }
  Mailbox<v1::Job> last;
  Mailbox<absl::Status> ended;
};

JobSpec Spec(const std::string& name, int64_t workers) {
  JobSpec spec;
  spec.name = name;
  spec.workers.min = spec.workers.max = workers;
  return spec;
}

class LoopTest : public testing::Test {
 protected:
  LoopTest() {
    LoopOptions options;
    options.coordinator_id = "c-test";
    options.tick = absl::Milliseconds(5);
    options.cluster.lease = absl::Seconds(60);
    loop_ = std::make_unique<CoordinatorLoop>(std::move(options), MakeMemoryStore(), &RealClock(),
                                              &NullMetricSink());
  }

  absl::Status Submit(const std::string& name, int64_t workers) {
    Mailbox<absl::Status> answer;
    if (!loop_->Submit("r-" + name, Spec(name, workers),
                       [&](const Decision& d, const ClusterState&) { answer.Put(d.status); })) {
      return absl::UnavailableError("not posted");
    }
    return answer.Take().value_or(absl::DeadlineExceededError("no answer"));
  }

  // A worker's whole life for one job.
  void Work(const std::string& id) {
    const auto port = std::make_shared<FakeWorkerPort>();
    const uint64_t session = loop_->OpenSession(port);
    const input::Speaker from{id, session};
    WorkerInfo info;
    info.worker_id = id;
    info.transport = "grpc";
    loop_->Post(input::WorkerRegistered{session, info});
    while (const auto message = port->inbox.Take()) {
      if (message->has_assign()) {
        loop_->Post(input::WorkerPrepared{
            from, {message->assign().job_id(), message->assign().view().number()}, {}});
      } else if (message->has_begin()) {
        const input::About about{message->begin().job_id(), message->begin().view()};
        for (uint64_t step = 1; step <= 100; ++step) {
          ProgressReport report;
          report.step = step;
          loop_->Post(input::WorkerProgress{from, about, report});
        }
        FinishedReport report;
        report.steps = 100;
        report.average_samples = report.average_correct = 1;
        loop_->Post(input::WorkerFinished{from, about, report});
        break;
      }
    }
    const auto why = port->ended.Take();
    ASSERT_TRUE(why.has_value());
    EXPECT_EQ(why->code(), absl::StatusCode::kUnavailable);
    loop_->CloseSession(session);
  }

  std::unique_ptr<CoordinatorLoop> loop_;
};

TEST_F(LoopTest, ManyThreadsOneState) {
  ASSERT_TRUE(loop_->Start().ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([this, i] { Work(absl::StrCat("w", i)); });
  ASSERT_TRUE(Submit("lenet", 4).ok());
  const auto watch = std::make_shared<FakeWatchPort>();
  ASSERT_TRUE(loop_->Watch("lenet", watch));
  threads.emplace_back([this] {
    for (int i = 0; i < 50; ++i) {
      Mailbox<size_t> answer;
      if (!loop_->Ask([&](const ClusterState& state) { answer.Put(state.jobs.size()); })) return;
      EXPECT_EQ(answer.Take().value_or(0), 1u);
      EXPECT_TRUE(loop_->Live().ok());
    }
  });
  const auto ended = watch->ended.Take();
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->ok()) << *ended;
  std::optional<v1::Job> job;
  do {
    job = watch->last.Take();
  } while (job.has_value() && job->state() != v1::JOB_STATE_SUCCEEDED);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->result().steps(), 100u);
  threads.back().join();
  threads.pop_back();
  loop_->Stop();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LoopTest, NothingIsTakenBeforeStartAndAfterStop) {
  EXPECT_FALSE(loop_->Ask([](const ClusterState&) {}));
  EXPECT_FALSE(loop_->Ready().ok());
  ASSERT_TRUE(loop_->Start().ok());
  EXPECT_TRUE(Submit("lenet", 1).ok());
  EXPECT_TRUE(loop_->Ready().ok());
  loop_->Stop();
  loop_->Stop();
  EXPECT_EQ(Submit("other", 1).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(loop_->OpenSession(std::make_shared<FakeWorkerPort>()), 0u);
  EXPECT_FALSE(loop_->Ready().ok());
}

TEST_F(LoopTest, WhatWasPostedBeforeStopIsAnswered) {
  ASSERT_TRUE(loop_->Start().ok());
  std::atomic<int> answered{0};
  int posted = 0;
  for (int i = 0; i < 200; ++i) {
    posted += loop_->Ask([&](const ClusterState&) { ++answered; }) ? 1 : 0;
  }
  loop_->Stop();
  EXPECT_EQ(posted, 200);
  EXPECT_EQ(answered, 200);
}

}  // namespace
}  // namespace gg
