// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/link/side.h"
#include "core/clock.h"
#include "worker/transport/grpc/grpc_transport.h"

namespace gg::bench {
namespace {

constexpr uint64_t kWindow = 2;  // messages under way: one is written while the next is prepared

class GrpcSide final : public Side {
 public:
  GrpcSide(bool near, bool unix_socket, const Handshake& handshake)
      : near_(near), peer_(near ? 1 : 0) {
    GrpcTransportOptions options;
    options.same_host_unix_socket = unix_socket;
    auto transport = MakeGrpcTransport(options);
    if (!transport.ok()) Fail(transport.status().ToString());
    transport_ = *std::move(transport);
    const std::string own = transport_->local_address();
    handshake.tell(own);
    const std::string other = handshake.hear();
    View view{1, {{"near", near ? own : other}, {"far", near ? other : own}}};
    auto group = transport_->Join("bench", view, near ? 0 : 1);
    if (!group.ok()) Fail(group.status().ToString());
    group_ = *std::move(group);
  }

  void Stream(uint64_t bytes, uint64_t count) override {
    Prepare(bytes, count);
    for (uint64_t i = 0; i < std::min(kWindow, count); ++i) near_ ? SendNext() : RecvNext();
    Await();
    // One empty message back: `far` has all.
    Prepare(0, 1);
    near_ ? RecvNext() : SendNext();
    Await();
  }

  void PingPong(uint64_t bytes, uint64_t count) override {
    Prepare(bytes, count);
    near_ ? Ping() : Pong();
    Await();
  }

 private:
  // Steps are never used twice, in either direction.
  void Prepare(uint64_t bytes, uint64_t count) {
    if (buffer_.size() < bytes * kWindow) buffer_.assign(bytes * kWindow, 1);
    bytes_ = bytes;
    MutexLock lock(&monitor_.mu);
    next_ = end_;
    end_ += count;
    left_ = count;
  }
  Bytes Buffer(uint64_t step) { return Bytes(buffer_.data() + step % kWindow * bytes_, bytes_); }
  static Tag MakeTag(uint64_t step) { return {Channel::kExchange, step, 0}; }

  // False: all have been started. The main thread begins, the transport's goes on, both at once for
  // a while.
  bool TakeStep(uint64_t* step) {
    MutexLock lock(&monitor_.mu);
    *step = next_;
    if (next_ == end_) return false;
    ++next_;
    return true;
  }
  void SendNext() {
    uint64_t step;
    if (!TakeStep(&step)) return;
    group_->Send(peer_, MakeTag(step), Buffer(step), [this](absl::Status status) {
      Check(status);
      SendNext();
      Done();
    });
  }
  void RecvNext() {
    uint64_t step;
    if (!TakeStep(&step)) return;
    group_->Recv(peer_, MakeTag(step), Buffer(step), [this](absl::Status status) {
      Check(status);
      RecvNext();
      Done();
    });
  }
  void Ping() {
    uint64_t step;
    if (!TakeStep(&step)) return;
    group_->Recv(peer_, MakeTag(step), Buffer(step), [this](absl::Status status) {
      Check(status);
      Ping();
      Done();
    });
    group_->Send(peer_, MakeTag(step), Buffer(step + 1), &GrpcSide::Check);
  }
  void Pong() {
    uint64_t step;
    if (!TakeStep(&step)) return;
    group_->Recv(peer_, MakeTag(step), Buffer(step), [this, step](absl::Status status) {
      Check(status);
      group_->Send(peer_, MakeTag(step), Buffer(step), [this](absl::Status sent) {
        Check(sent);
        Done();
      });
      Pong();
    });
  }

  static void Check(const absl::Status& status) {
    if (!status.ok()) Fail(status.ToString());
  }
  void Done() {
    MutexLock lock(&monitor_.mu);
    if (--left_ == 0) monitor_.changed.NotifyAll();
  }
  void Await() {
    MutexLock lock(&monitor_.mu);
    if (!RealClock().Await(
            monitor_, [this] { return left_ == 0; }, RealClock().Now() + absl::Minutes(2))) {
      Fail(absl::StrCat(left_, " messages to or from rank ", peer_, " did not arrive"));
    }
  }

  const bool near_;
  const Rank peer_;
  std::vector<uint8_t> buffer_;
  uint64_t bytes_ = 0;
  Monitor monitor_;
  uint64_t next_ ABSL_GUARDED_BY(monitor_.mu) = 0, end_ ABSL_GUARDED_BY(monitor_.mu) = 0;
  uint64_t left_ ABSL_GUARDED_BY(monitor_.mu) = 0;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<PeerGroup> group_;
};

}  // namespace

std::unique_ptr<Side> MakeGrpcSide(bool near, bool unix_socket, const Handshake& handshake) {
  return std::make_unique<GrpcSide>(near, unix_socket, handshake);
}

}  // namespace gg::bench
