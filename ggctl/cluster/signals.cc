// SPDX-License-Identifier: Apache-2.0
#include "ggctl/cluster/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace gg {

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGWINCH})
    sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &old_mask_);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  if (fd_ >= 0) close(fd_);
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

int Signals::Wait(absl::Duration timeout, int other_fd) {
  pollfd fds[2] = {{fd_, POLLIN, 0}, {other_fd, POLLIN, 0}};
  const int64_t milliseconds = std::clamp<int64_t>(absl::ToInt64Milliseconds(timeout), 0, 60'000);
  if (poll(fds, 2, static_cast<int>(milliseconds)) <= 0 || (fds[0].revents & POLLIN) == 0) return 0;
  signalfd_siginfo info;
  if (read(fd_, &info, sizeof info) != sizeof info) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace gg
