// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/write_queue.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

using ::testing::ElementsAre;
using Queue = WriteQueue<std::string>;

// Stands for gRPC: one write at a time, nothing after Finish.
struct FakeStream {
  std::vector<std::string> written;
  int writing = 0;
  int finished = 0;
  grpc::Status status;

  Queue::Calls calls() {
    return {[this](const std::string* message) {
              EXPECT_EQ(finished, 0);
              EXPECT_EQ(++writing, 1) << "two writes at once";
              written.push_back(*message);
            },
            [this](const grpc::Status& last) {
              EXPECT_EQ(writing, 0) << "finished during a write";
              ++finished;
              status = last;
            }};
  }
  void Complete(Queue& queue, bool ok = true) {
    ASSERT_EQ(writing, 1);
    writing = 0;
    queue.WriteDone(ok);
  }
};

TEST(WriteQueueTest, WritesOneAfterTheOtherThenFinishes) {
  FakeStream stream;
  Queue queue(stream.calls(), Queue::Keep::kAll, 10);
  queue.Push("a");
  queue.Push("b");
  queue.Close(grpc::Status(grpc::StatusCode::ABORTED, "over"));
  queue.Push("too late");
  EXPECT_THAT(stream.written, ElementsAre("a"));
  stream.Complete(queue);
  EXPECT_EQ(stream.finished, 0);
  stream.Complete(queue);
  EXPECT_THAT(stream.written, ElementsAre("a", "b"));
  EXPECT_EQ(stream.finished, 1);
  EXPECT_EQ(stream.status.error_message(), "over");
  queue.Close(grpc::Status::OK);
  EXPECT_EQ(stream.finished, 1);
}

TEST(WriteQueueTest, KeepLatestDropsWhatTheReaderWasTooSlowFor) {
  FakeStream stream;
  Queue queue(stream.calls(), Queue::Keep::kLatest, 1);
  for (const char* text : {"1", "2", "3", "last"}) queue.Push(text);
  queue.Close(grpc::Status::OK);
  stream.Complete(queue);
  stream.Complete(queue);
  EXPECT_THAT(stream.written, ElementsAre("1", "last"));
  EXPECT_EQ(stream.finished, 1);
}

TEST(WriteQueueTest, AReaderThatDoesNotReadIsCutOff) {
  FakeStream stream;
  Queue queue(stream.calls(), Queue::Keep::kAll, 2);
  for (int i = 0; i < 10; ++i) queue.Push("x");
  stream.Complete(queue);
  EXPECT_EQ(stream.finished, 1);
  EXPECT_EQ(stream.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST(WriteQueueTest, ABrokenStreamIsFinishedAtOnce) {
  FakeStream stream;
  Queue queue(stream.calls(), Queue::Keep::kAll, 10);
  queue.Push("a");
  queue.Push("b");
  stream.Complete(queue, false);
  EXPECT_THAT(stream.written, ElementsAre("a"));
  EXPECT_EQ(stream.finished, 1);
  EXPECT_TRUE(queue.closing());
}

TEST(WriteQueueTest, ManyThreadsNeverBreakTheRules) {
  Mutex mu;
  int writing = 0, finished = 0, written = 0;
  bool broken = false;
  std::atomic<int> due{0};
  Queue queue({[&](const std::string*) {
                 MutexLock lock(&mu);
                 broken = broken || finished > 0 || ++writing != 1;
                 ++written;
                 ++due;
               },
               [&](const grpc::Status&) {
                 MutexLock lock(&mu);
                 broken = broken || writing != 0 || ++finished != 1;
               }},
              Queue::Keep::kAll, 100'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) queue.Push("m");
    });
  }
  std::atomic<bool> stop{false};
  std::thread completer([&] {
    while (!stop || due > 0) {
      if (due == 0) continue;
      --due;
      {
        MutexLock lock(&mu);
        --writing;
      }
      queue.WriteDone(true);
    }
  });
  for (std::thread& thread : threads) thread.join();
  queue.Close(grpc::Status::OK);
  stop = true;
  completer.join();
  EXPECT_FALSE(broken);
  EXPECT_EQ(written, 6000);
  EXPECT_EQ(finished, 1);
}

}  // namespace
}  // namespace gg
