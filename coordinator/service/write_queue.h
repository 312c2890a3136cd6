// SPDX-License-Identifier: Apache-2.0
//
// The sending half of a server stream: messages go out one at a time in order, and the stream is
// finished exactly once, after the write in progress. gRPC allows one write at a time and nothing
// after Finish; this class keeps to that from any thread, without holding a lock across a call into
// gRPC. Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_WRITE_QUEUE_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_WRITE_QUEUE_H_

#include <grpcpp/support/status.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "core/sync.h"

namespace gg {

template <typename Message>
class WriteQueue {
 public:
  struct Calls {
    std::function<void(const Message*)> start_write;  // the message is lent until WriteDone
    std::function<void(const grpc::Status&)> finish;
  };
  // kLatest: a message that has not begun to go out is replaced by a newer one (a slow reader
  // misses the ones between). kAll: more than `limit` waiting messages finish the stream with
  // RESOURCE_EXHAUSTED.
  enum class Keep { kAll, kLatest };

  WriteQueue(Calls calls, Keep keep, size_t limit)
      : calls_(std::move(calls)), keep_(keep), limit_(limit) {}

  void Push(Message message) {
    const Message* next = nullptr;
    std::optional<grpc::Status> last;
    {
      MutexLock lock(&mu_);
      if (closing_) return;
      if (keep_ == Keep::kLatest) waiting_.clear();
      waiting_.push_back(std::move(message));
      if (waiting_.size() > limit_) {
        CloseLocked(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                 "the other side does not read its stream"));
        waiting_.clear();
      }
      next = NextLocked(&last);
    }
    CarryOn(next, last);
  }

  // What was pushed before still goes out.
  void Close(grpc::Status status) {
    const Message* next = nullptr;
    std::optional<grpc::Status> last;
    {
      MutexLock lock(&mu_);
      if (closing_) return;
      CloseLocked(std::move(status));
      next = NextLocked(&last);
    }
    CarryOn(next, last);
  }

  // From OnWriteDone.
  void WriteDone(bool ok) {
    const Message* next = nullptr;
    std::optional<grpc::Status> last;
    {
      MutexLock lock(&mu_);
      writing_ = false;
      if (!ok) {  // the stream is broken: nothing will get through any more
        waiting_.clear();
        if (!closing_) {
          CloseLocked(grpc::Status(grpc::StatusCode::CANCELLED, "the stream broke"));
        }
      }
      next = NextLocked(&last);
    }
    CarryOn(next, last);
  }

  bool closing() {
    MutexLock lock(&mu_);
    return closing_;
  }

 private:
  void CloseLocked(grpc::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    closing_ = true;
    status_ = std::move(status);
  }

  const Message* NextLocked(std::optional<grpc::Status>* last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || finished_) return nullptr;
    if (!waiting_.empty()) {
      current_ = std::move(waiting_.front());
      waiting_.pop_front();
      writing_ = true;
      return &current_;
    }
    if (closing_) {
      finished_ = true;
      *last = status_;
    }
    return nullptr;
  }

  void CarryOn(const Message* next, const std::optional<grpc::Status>& last) {
    if (next != nullptr) calls_.start_write(next);
    if (last.has_value()) calls_.finish(*last);
  }

  const Calls calls_;
  const Keep keep_;
  const size_t limit_;
  Mutex mu_;
  std::deque<Message> waiting_ ABSL_GUARDED_BY(mu_);
  Message current_;  // belongs to gRPC while writing_
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_WRITE_QUEUE_H_
