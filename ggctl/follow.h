// SPDX-License-Identifier: Apache-2.0
//
// Following a job to its end on behalf of `watch`, `submit --watch` and `submit --wait`, and the
// summary that closes it. Thread-safety: thread-compatible, main thread.
#ifndef GOSSIPGRAD_GGCTL_FOLLOW_H_
#define GOSSIPGRAD_GGCTL_FOLLOW_H_

#include <string>

#include "absl/time/time.h"
#include "ggctl/cluster/signals.h"
#include "ggctl/exit_code.h"
#include "ggctl/session.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

struct FollowOptions {
  bool progress = true;                               // show it while it runs
  absl::Duration timeout = absl::InfiniteDuration();  // then kTimedOut; the job goes on
};

// Returns when the job is over, with the exit code of its outcome and the last state in `*last`.
// Ctrl-C detaches: the job goes on, and the user is told how to cancel it.
ExitCode FollowJob(Session& session, Signals* signals, JobClient* client, const std::string& name,
                   const FollowOptions& options, gossipgrad::v1::Job* last);

// A short table of the outcome of a job in a final state.
std::string Summary(const gossipgrad::v1::Job& job);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_FOLLOW_H_
