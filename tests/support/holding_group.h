// SPDX-License-Identifier: Apache-2.0
//
// A PeerGroup of three, of which this is rank 0, whose operations end when and as the test says.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_HOLDING_GROUP_H_
#define GOSSIPGRAD_TESTS_SUPPORT_HOLDING_GROUP_H_

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "worker/transport/transport.h"

namespace gg {

// Holds every message until it is told to take those of a peer.
class HoldingGroup final : public PeerGroup {
 public:
  HoldingGroup() { view_.members.resize(3); }
  ~HoldingGroup() override {
    for (Rank r = 0; r < 3; ++r) Take(r, absl::CancelledError("closed"));
    for (auto& [key, recv] : recvs_) recv.done(absl::CancelledError("closed"));
  }
  const View& view() const override { return view_; }
  Rank self() const override { return 0; }
  void Send(Rank to, Tag tag, ConstBytes from, Done done) override {
    held_.emplace(std::make_pair(to, tag), std::move(done));
    sent_.emplace_back(to, tag);
  }
  void Recv(Rank from, Tag tag, Bytes into, Done done) override {
    recvs_.emplace(std::make_pair(from, tag), Posted{into, std::move(done)});
  }
  void CancelRecv(Rank from, Tag tag) override {
    EndRecv(from, tag, absl::CancelledError("given up"));
  }
  void Expire(Channel, uint64_t) override {}
  PeerStats stats() const override { return {}; }
  std::string DescribePeer(Rank) const override { return "holds"; }

  void Take(Rank peer, absl::Status status = absl::OkStatus()) {
    for (auto& [key, done] : std::exchange(held_, {})) {
      if (key.first == peer) {
        done(status);
      } else {
        held_.emplace(key, std::move(done));
      }
    }
  }
  // With `words` as the first of what has arrived.
  void EndRecv(Rank from, Tag tag, absl::Status status, std::vector<uint64_t> words = {}) {
    auto node = recvs_.extract({from, tag});
    ASSERT_FALSE(node.empty()) << tag.step;
    ASSERT_LE(words.size() * sizeof(uint64_t), node.mapped().into.size());
    std::copy(words.begin(), words.end(), reinterpret_cast<uint64_t*>(node.mapped().into.data()));
    node.mapped().done(std::move(status));
  }
  bool Expects(Rank from, Tag tag) const { return recvs_.contains({from, tag}); }
  const std::vector<std::pair<Rank, Tag>>& sent() const { return sent_; }

 private:
  struct Posted {
    Bytes into;
    Done done;
  };
  View view_;
  std::map<std::pair<Rank, Tag>, Done> held_;
  std::map<std::pair<Rank, Tag>, Posted> recvs_;
  std::vector<std::pair<Rank, Tag>> sent_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_HOLDING_GROUP_H_
