// SPDX-License-Identifier: Apache-2.0
//
// Mutex, MutexLock and CondVar over the standard library, with clang's thread-safety annotations.
// Not absl::Mutex: distributions ship Abseil without ThreadSanitizer instrumentation, which then sees no
// happens-before edge through it and reports races that are not there (docs/adr/0005-own-mutex.md).
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_CORE_SYNC_H_
#define GOSSIPGRAD_CORE_SYNC_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace gg {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mu_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) { mu_->Lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }

 private:
  Mutex* const mu_;
};

// A condition variable for gg::Mutex. Every wait has a deadline; loop on the predicate.
class CondVar {
 public:
  void NotifyAll() { cv_.notify_all(); }
  void NotifyOne() { cv_.notify_one(); }

  // Waits until notified, until `timeout` has passed or spuriously. False when the timeout ended it.
  bool WaitFor(Mutex* mu, std::chrono::nanoseconds timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    // system_clock would go through pthread_cond_timedwait and jump with the wall clock; steady_clock does not.
    const bool notified = cv_.wait_until(lock, std::chrono::steady_clock::now() + timeout) ==
                          std::cv_status::no_timeout;
    lock.release();
    return notified;
  }

 private:
  std::condition_variable cv_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SYNC_H_
