// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

// A host that vanished without a word is noticed by the kernel's own probes, which a stopped
// process still answers.
constexpr int kKeepAliveIdleSeconds = 30, kKeepAliveIntervalSeconds = 10, kKeepAliveProbes = 6;
constexpr int kUnixBufferBytes = 512 << 10;  // as much of it as the system allows

void SetOption(int fd, int level, int option, int value) {
  // Best effort: the connection works without.
  (void)setsockopt(fd, level, option, &value, sizeof(value));
}

}  // namespace

absl::Status Socket::Error(int code, absl::string_view what) const {
  return absl::UnavailableError(absl::StrCat(what, " ", target_, ": ", strerror(code)));
}

absl::StatusOr<Socket> Socket::Dial(const DialTarget& target) {
  Socket socket(::socket(target.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                target.text);
  if (socket.fd_ < 0) return socket.Error(errno, "cannot make a socket for");
  if (target.address.ss_family == AF_UNIX) {
    SetOption(socket.fd_, SOL_SOCKET, SO_SNDBUF, kUnixBufferBytes);
  } else {
    SetOption(socket.fd_, IPPROTO_TCP, TCP_NODELAY, 1);
    SetOption(socket.fd_, SOL_SOCKET, SO_KEEPALIVE, 1);
    SetOption(socket.fd_, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
    SetOption(socket.fd_, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
    SetOption(socket.fd_, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  }
  if (connect(socket.fd_, reinterpret_cast<const sockaddr*>(&target.address), target.length) != 0 &&
      errno != EINPROGRESS) {
    return socket.Error(errno, "cannot connect to");
  }
  return socket;
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), target_(std::move(other.target_)) {}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<bool> Socket::Connected() {
  pollfd poll_fd = {.fd = fd_, .events = POLLOUT, .revents = 0};
  if (poll(&poll_fd, 1, 0) <= 0) return false;
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return Error(error, "cannot connect to");
  return true;
}

absl::StatusOr<int> Socket::Duplicate() const {
  const int fd = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return Error(errno, "cannot duplicate the connection to");
  return fd;
}

void Socket::Shutdown() {
  shutdown(fd_, SHUT_RDWR);
}

}  // namespace gg
