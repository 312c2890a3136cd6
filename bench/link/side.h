// SPDX-License-Identifier: Apache-2.0
//
// What is measured: two processes, one link. `near` is the parent, which keeps the time, `far` the
// child.
//
// Thread-safety: one thread per side.
#ifndef GOSSIPGRAD_BENCH_LINK_SIDE_H_
#define GOSSIPGRAD_BENCH_LINK_SIDE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace gg::bench {

class Side {
 public:
  virtual ~Side() = default;
  // `near` sends `count` messages of `bytes` one after another; returns when `far` has all of them.
  virtual void Stream(uint64_t bytes, uint64_t count) = 0;
  // `count` messages of `bytes` go there and back.
  virtual void PingPong(uint64_t bytes, uint64_t count) = 0;
};

// Tells the other process one line, and reads one of its. Only for the start.
struct Handshake {
  std::function<void(const std::string&)> tell;
  std::function<std::string()> hear;
};

// Both sides make the same calls in the same order; `near` says which one this is. Failures end the
// process.
std::unique_ptr<Side> MakeGrpcSide(bool near, bool unix_socket, const Handshake& handshake);
std::unique_ptr<Side> MakeTcpSide(bool near, const Handshake& handshake);

[[noreturn]] void Fail(const std::string& what);

}  // namespace gg::bench

#endif  // GOSSIPGRAD_BENCH_LINK_SIDE_H_
