// SPDX-License-Identifier: Apache-2.0
// The yardstick: blocking sockets, nothing else.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/link/side.h"

namespace gg::bench {
namespace {

class TcpSide final : public Side {
 public:
  TcpSide(bool near, const Handshake& handshake) : near_(near) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_ = Check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    if (near) {
      int port = 0;
      if (!absl::SimpleAtoi(handshake.hear(), &port)) Fail("no port");
      address.sin_port = htons(port);
      Check(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), "connect");
    } else {
      const int listener = fd_;
      Check(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), "bind");
      Check(listen(listener, 1), "listen");
      socklen_t length = sizeof(address);
      Check(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), "getsockname");
      handshake.tell(absl::StrCat(ntohs(address.sin_port)));
      fd_ = Check(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept");
      close(listener);
    }
    const int on = 1;
    Check(setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), "TCP_NODELAY");
  }
  ~TcpSide() override { close(fd_); }

  void Stream(uint64_t bytes, uint64_t count) override {
    Reserve(bytes);
    for (uint64_t i = 0; i < count; ++i) near_ ? Write(bytes) : Read(bytes);
    near_ ? Read(1) : Write(1);
  }
  void PingPong(uint64_t bytes, uint64_t count) override {
    Reserve(bytes);
    for (uint64_t i = 0; i < count; ++i) {
      near_ ? Write(bytes) : Read(bytes);
      near_ ? Read(bytes) : Write(bytes);
    }
  }

 private:
  static int Check(int result, const char* what) {
    if (result < 0) Fail(absl::StrCat(what, ": ", strerror(errno)));
    return result;
  }
  void Reserve(uint64_t bytes) {
    if (buffer_.size() < bytes + 1) buffer_.assign(bytes + 1, 1);
  }
  void Write(uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t n = send(fd_, buffer_.data() + done, bytes - done, MSG_NOSIGNAL);
      if (n <= 0) Fail(absl::StrCat("send: ", strerror(errno)));
      done += n;
    }
  }
  void Read(uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t n = recv(fd_, buffer_.data() + done, bytes - done, 0);
      if (n <= 0) Fail(absl::StrCat("recv: ", n == 0 ? "closed" : strerror(errno)));
      done += n;
    }
  }

  const bool near_;
  int fd_ = -1;
  std::vector<uint8_t> buffer_;
};

}  // namespace

std::unique_ptr<Side> MakeTcpSide(bool near, const Handshake& handshake) {
  return std::make_unique<TcpSide>(near, handshake);
}

}  // namespace gg::bench
