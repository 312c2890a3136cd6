// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/transport/child_peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

extern char** environ;

namespace gg {

ChildPeer::ChildPeer(bool unix_socket) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return;
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  std::string program = GG_PEER_PROCESS, path = unix_socket ? "unix" : "tcp";
  char* arguments[] = {program.data(), path.data(), nullptr};
  if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  to_child_ = in[1];
  from_child_ = out[0];
  char c;
  // Ends at the latest when the child does.
  while (pid_ > 0 && read(from_child_, &c, 1) == 1 && c != '\n') address_.push_back(c);
}

ChildPeer::~ChildPeer() {
  KillAndReap();
  close(to_child_);
  close(from_child_);
}

void ChildPeer::TellAddress(const std::string& rank0) {
  const std::string line = rank0 + "\n";
  if (write(to_child_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    KillAndReap();
}

void ChildPeer::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

void ChildPeer::KillAndReap() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace gg
