// SPDX-License-Identifier: Apache-2.0
//
// Signals as events in a loop. Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD and SIGWINCH for
// this thread and all threads made later, and reads them from a descriptor. Make one early in main, before any
// thread exists. Thread-safety: thread-compatible; one per process at a time.
#ifndef GOSSIPGRAD_GGCTL_CLUSTER_SIGNALS_H_
#define GOSSIPGRAD_GGCTL_CLUSTER_SIGNALS_H_

#include <signal.h>

#include "absl/time/time.h"

namespace gg {

class Signals {
 public:
  Signals();
  ~Signals();  // restores the mask of this thread
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Waits for a signal, for `other_fd` (-1 = none) to become readable, or for `timeout`. Returns
  // the number of the signal, or 0.
  int Wait(absl::Duration timeout, int other_fd = -1);

  // SIGINT, SIGTERM, SIGHUP or SIGQUIT: the user wants us to end.
  static bool IsStop(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
  }

 private:
  sigset_t old_mask_;
  int fd_ = -1;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_CLUSTER_SIGNALS_H_
