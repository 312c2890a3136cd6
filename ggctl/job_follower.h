// SPDX-License-Identifier: Apache-2.0
//
// Follows one job over WatchJob in a thread of its own and offers each change to an event loop that
// polls fd(). A stream that breaks is opened again until the job is final or the coordinator stays
// away for the request timeout. A coordinator that holds the connection but says nothing (frozen,
// or the network is cut) is asked for a sign of life; when none comes the stream counts as broken.
// Thread-safety: thread-compatible; the inner threads are private.
#ifndef GOSSIPGRAD_GGCTL_JOB_FOLLOWER_H_
#define GOSSIPGRAD_GGCTL_JOB_FOLLOWER_H_

#include <cstdint>
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
  // Watches job `name` (name or id) on the server of `client`, over a client of its own.
  JobFollower(const JobClient* client, std::string name);
  ~JobFollower();  // ends the watch
  JobFollower(const JobFollower&) = delete;
  JobFollower& operator=(const JobFollower&) = delete;

  // Readable when Take() has something new.
  int fd() const { return event_fd_; }

  struct Update {
    std::optional<gossipgrad::v1::Job> job;  // the newest, if there is one since the last Take()
    // For how long probes have gone unanswered; zero while the coordinator answers.
    absl::Duration silent;
    bool ended = false;   // no more will come
    absl::Status status;  // why it ended: OK after a final state
  };
  Update Take();

 private:
  void Run();
  // One stream, until it ends. Sets *final when the last job seen was in a final state.
  absl::Status WatchOnce(bool* got_any, bool* final);
  // Asks for a sign of life whenever nothing has come for a while, until the follower ends.
  void Probe();
  void ProbeOnce();
  void Heard() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake();
  void Publish(std::optional<gossipgrad::v1::Job> job, bool ended, const absl::Status& status);
  bool closing() const;

  JobClient client_;
  const std::string name_;
  int event_fd_ = -1;
  mutable Mutex mu_;
  CondVar changed_;
  Update pending_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool cut_ ABSL_GUARDED_BY(mu_) = false;    // the prober gave the running stream up
  uint64_t heard_ ABSL_GUARDED_BY(mu_) = 0;  // signs of life so far
  grpc::ClientContext* stream_ ABSL_GUARDED_BY(mu_) = nullptr;  // the running one
  std::thread thread_, prober_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOB_FOLLOWER_H_
