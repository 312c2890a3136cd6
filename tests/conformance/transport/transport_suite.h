// SPDX-License-Identifier: Apache-2.0
//
// The contract of worker/transport/transport.h as tests, written once and instantiated for every
// transport by a file of ten lines (inproc_instance.cc, grpc_instance.cc).
#ifndef GOSSIPGRAD_TESTS_CONFORMANCE_TRANSPORT_TRANSPORT_SUITE_H_
#define GOSSIPGRAD_TESTS_CONFORMANCE_TRANSPORT_TRANSPORT_SUITE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "worker/transport/transport.h"

namespace gg {

// Makes the transports of one test; they reach each other.
class TransportWorld {
 public:
  virtual ~TransportWorld() = default;
  virtual std::unique_ptr<Transport> Make(const TransportOptions& options) = 0;
};

struct TransportCase {
  std::string name;
  std::function<std::unique_ptr<TransportWorld>()> make_world;
  // What the path may take in although the receiver holds the sender back: windows, socket buffers.
  uint64_t path_bytes = 0;
  std::string describes;  // what DescribePeer says of a peer that is connected
};

// One Send or Recv under way. Its Done must run once, on another thread, and be destroyed.
class Op {
 public:
  Op() : state_(std::make_shared<State>()) {}
  // Runs `call` with the Done to hand over.
  explicit Op(const std::function<void(Done)>& call) : Op() { Start(call); }
  void Start(const std::function<void(Done)>& call);

  // Fails the test and returns kDeadlineExceeded when it does not end in time.
  absl::Status Wait();
  bool done() const;

 private:
  struct State {
    Monitor monitor;
    bool done = false;
    absl::Status status;
  };
  std::shared_ptr<State> state_;
};

std::vector<uint8_t> Pattern(uint64_t seed, size_t bytes);

class TransportConformance : public ::testing::TestWithParam<TransportCase> {
 protected:
  void SetUp() override { world_ = GetParam().make_world(); }

  // Transports for ranks 0..size-1 and view number 1 over them, joined by all as job "job".
  void Start(int size, TransportOptions options = {});
  View MakeView(uint64_t number) const;
  std::unique_ptr<PeerGroup> Join(Rank rank, const View& view, absl::string_view job = "job");

  Op Send(PeerGroup& from, Rank to, Tag tag, const std::vector<uint8_t>& bytes) {
    return Op([&](Done done) { from.Send(to, tag, bytes, std::move(done)); });
  }
  Op Recv(PeerGroup& to, Rank from, Tag tag, std::vector<uint8_t>* into) {
    return Op([&](Done done) { to.Recv(from, tag, absl::MakeSpan(*into), std::move(done)); });
  }
  Op Send(Rank from, Rank to, Tag tag, const std::vector<uint8_t>& bytes) {
    return Send(*groups_[from], to, tag, bytes);
  }
  Op Recv(Rank to, Rank from, Tag tag, std::vector<uint8_t>* into) {
    return Recv(*groups_[to], from, tag, into);
  }
  // One message each way between the two, so that both links stand.
  void Meet(Rank a, Rank b);
  // Waits (with a deadline) until `ready` holds; asks it again and again.
  static bool Eventually(const std::function<bool()>& ready);

  std::unique_ptr<TransportWorld> world_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
  View view_;
};

constexpr Tag Exchange(uint64_t step, uint32_t block = 0) {
  return {Channel::kExchange, step, block};
}

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_CONFORMANCE_TRANSPORT_TRANSPORT_SUITE_H_
