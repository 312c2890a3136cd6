// SPDX-License-Identifier: Apache-2.0
//
// Follows one job over WatchJob in a thread of its own and offers each change to an event loop that
// polls fd(). A stream that breaks is opened again until the job is final or the coordinator stays
// away for the request timeout. Thread-safety: thread-compatible; the inner thread is private.
#ifndef GOSSIPGRAD_GGCTL_JOB_FOLLOWER_H_
#define GOSSIPGRAD_GGCTL_JOB_FOLLOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/sync.h"
#include "ggctl/client.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

class JobFollower {
 public:
  // `client` must outlive the follower. Watches job `name` (name or id).
  JobFollower(JobClient* client, std::string name);
  ~JobFollower();  // ends the watch
  JobFollower(const JobFollower&) = delete;
  JobFollower& operator=(const JobFollower&) = delete;

  // Readable when Take() has something new.
  int fd() const { return event_fd_; }

  struct Update {
    std::optional<gossipgrad::v1::Job> job;  // the newest, if there is one since the last Take()
    bool ended = false;                      // no more will come
    absl::Status status;                     // why it ended: OK after a final state
  };
  Update Take();

 private:
  void Run();
  // One stream, until it ends. Sets *final when the last job seen was in a final state.
  absl::Status WatchOnce(bool* got_any, bool* final);
  void Publish(std::optional<gossipgrad::v1::Job> job, bool ended, const absl::Status& status);
  bool closing() const;

  JobClient* const client_;
  const std::string name_;
  int event_fd_ = -1;
  mutable Mutex mu_;
  Update pending_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;  // of the running stream
  std::thread thread_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOB_FOLLOWER_H_
