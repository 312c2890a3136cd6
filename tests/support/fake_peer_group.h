// SPDX-License-Identifier: Apache-2.0
//
// Peers in one process whose messages arrive late and in a seeded disorder: what may overtake
// (different pairs of ranks, a Send's Done and the delivery) does. A rank's messages can be held
// back, and a rank can be lost. Keeps the contract of worker/transport/transport.h, but for the
// limits on memory and Expire. Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_FAKE_PEER_GROUP_H_
#define GOSSIPGRAD_TESTS_SUPPORT_FAKE_PEER_GROUP_H_

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/rng.h"
#include "worker/transport/transport.h"

namespace gg {

class FakePeers {
 public:
  FakePeers(int size, uint64_t seed) : rng_(seed, "test/fake-peers") {
    for (Rank r = 0; r < size; ++r) {
      view_.members.push_back({absl::StrCat("w", r), absl::StrCat("fake://", r)});
    }
    for (Rank r = 0; r < size; ++r) groups_.push_back(std::make_unique<Group>(this, r));
    thread_ = std::thread([this] { Run(); });
  }
  ~FakePeers() {
    {
      MutexLock lock(&monitor_.mu);
      stop_ = true;
      FailWhere([](const Key&) { return true; }, absl::CancelledError("the group was closed"));
      monitor_.changed.NotifyAll();
    }
    thread_.join();
  }

  PeerGroup& group(Rank rank) { return *groups_[static_cast<size_t>(rank)]; }

  // Messages that `rank` sends wait until Release(), and so do their Sends' Dones.
  void Hold(Rank rank) {
    MutexLock lock(&monitor_.mu);
    held_.insert(rank);
  }
  void Release(Rank rank) {
    MutexLock lock(&monitor_.mu);
    held_.erase(rank);
    monitor_.changed.NotifyAll();
  }
  // Everything from and to `rank`, now and later, ends with kUnavailable.
  void Lose(Rank rank) {
    MutexLock lock(&monitor_.mu);
    lost_.insert(rank);
    FailWhere([rank](const Key& key) { return key.from == rank || key.to == rank; }, Gone(rank));
    monitor_.changed.NotifyAll();
  }
  // The next message from `from` with this tag arrives damaged.
  void Damage(Rank from, Tag tag) {
    MutexLock lock(&monitor_.mu);
    damaged_.insert({from, tag});
  }

 private:
  struct Key {
    Rank from, to;
    Tag tag;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Outgoing {
    uint64_t order;  // of the calls: messages of one pair and channel keep it
    ConstBytes bytes;
    std::shared_ptr<Done> done;
  };
  struct Incoming {
    Bytes bytes;
    std::shared_ptr<Done> done;
  };
  struct Report {
    std::shared_ptr<Done> done;
    absl::Status status;
  };

  class Group final : public PeerGroup {
   public:
    Group(FakePeers* peers, Rank self) : peers_(peers), self_(self) {}
    const View& view() const override { return peers_->view_; }
    Rank self() const override { return self_; }
    void Send(Rank to, Tag tag, ConstBytes from, Done done) override {
      peers_->Add(peers_->sends_, {self_, to, tag}, self_, to,
                  Outgoing{0, from, std::make_shared<Done>(std::move(done))});
    }
    void Recv(Rank from, Tag tag, Bytes into, Done done) override {
      peers_->Add(peers_->receives_, {from, self_, tag}, self_, from,
                  Incoming{into, std::make_shared<Done>(std::move(done))});
    }
    void CancelRecv(Rank from, Tag tag) override {
      MutexLock lock(&peers_->monitor_.mu);
      auto it = peers_->receives_.find({from, self_, tag});
      if (it == peers_->receives_.end()) return;
      peers_->reports_.push_back({it->second.done, absl::CancelledError("cancelled")});
      peers_->receives_.erase(it);
      peers_->cancelled_.insert({from, self_, tag});
      peers_->monitor_.changed.NotifyAll();
    }
    void Expire(Channel, uint64_t) override {}
    PeerStats stats() const override { return {}; }
    std::string DescribePeer(Rank) const override { return "fake"; }

   private:
    FakePeers* const peers_;
    const Rank self_;
  };

  static absl::Status Gone(Rank rank) {
    return absl::UnavailableError(absl::StrCat("w", rank, " is gone"));
  }

  template <typename Operation>
  void Add(std::map<Key, Operation>& operations, Key key, Rank self, Rank peer,
           Operation operation) {
    MutexLock lock(&monitor_.mu);
    if constexpr (std::is_same_v<Operation, Outgoing>) operation.order = next_order_++;
    monitor_.changed.NotifyAll();
    if (stop_) {
      reports_.push_back({operation.done, absl::CancelledError("the group was closed")});
    } else if (self == peer || peer < 0 || peer >= view_.size()) {
      reports_.push_back({operation.done, absl::InvalidArgumentError("no such peer")});
    } else if (lost_.contains(self) || lost_.contains(peer)) {
      reports_.push_back({operation.done, Gone(lost_.contains(peer) ? peer : self)});
    } else if (!used_.insert({key, std::is_same_v<Operation, Outgoing>}).second) {
      reports_.push_back({operation.done, absl::AlreadyExistsError("this tag was used before")});
    } else {
      operations.emplace(key, std::move(operation));
    }
  }

  template <typename Predicate>
  void FailWhere(Predicate which, const absl::Status& why) {
    const auto fail = [&](auto& operations) {
      for (auto it = operations.begin(); it != operations.end();) {
        if (!which(it->first)) {
          ++it;
          continue;
        }
        reports_.push_back({it->second.done, why});
        it = operations.erase(it);
      }
    };
    fail(sends_);
    fail(receives_);
  }

  // Messages that have a receiver, or had one that gave up, and are first of their pair and channel.
  std::vector<Key> Deliverable() const {
    std::map<std::tuple<Rank, Rank, Channel>, std::pair<uint64_t, Key>> first;
    for (const auto& [key, send] : sends_) {
      if (held_.contains(key.from)) continue;
      const auto [it, fresh] =
          first.try_emplace({key.from, key.to, key.tag.channel}, send.order, key);
      if (!fresh && send.order < it->second.first) it->second = {send.order, key};
    }
    std::vector<Key> keys;
    for (const auto& [pair, message] : first) {
      if (receives_.contains(message.second) || cancelled_.contains(message.second)) {
        keys.push_back(message.second);
      }
    }
    return keys;
  }

  void Deliver(const Key& key) {
    const auto send = sends_.find(key);
    if (cancelled_.erase(key) > 0) {
      reports_.push_back({send->second.done, absl::OkStatus()});
      sends_.erase(send);
      return;
    }
    const auto receive = receives_.find(key);
    absl::Status status;
    if (damaged_.erase({key.from, key.tag}) > 0) {
      status = absl::DataLossError("checksum error");
    } else if (send->second.bytes.size() != receive->second.bytes.size()) {
      status = absl::InvalidArgumentError("the sizes differ");
    } else {
      std::copy(send->second.bytes.begin(), send->second.bytes.end(),
                receive->second.bytes.begin());
    }
    reports_.push_back({receive->second.done, status});
    reports_.push_back({send->second.done, absl::OkStatus()});
    sends_.erase(send);
    receives_.erase(receive);
  }

  void Run() {
    for (;;) {
      std::optional<Report> report;
      {
        MutexLock lock(&monitor_.mu);
        RealClock().Await(
            monitor_, [this] { return stop_ || !reports_.empty() || !Deliverable().empty(); },
            absl::InfiniteFuture());
        const std::vector<Key> keys = Deliverable();
        if (stop_ && reports_.empty()) return;
        // A report and a delivery take turns by chance, and so do those of each kind.
        if (!keys.empty() && (reports_.empty() || rng_.Below(2) == 0)) {
          Deliver(keys[rng_.Below(keys.size())]);
          continue;
        }
        const size_t which = rng_.Below(reports_.size());
        report = std::move(reports_[which]);
        reports_.erase(reports_.begin() + static_cast<ptrdiff_t>(which));
      }
      (*report->done)(report->status);
    }
  }

  Monitor monitor_;
  View view_;
  std::vector<std::unique_ptr<Group>> groups_;
  Rng rng_;
  uint64_t next_order_ = 0;
  std::map<Key, Outgoing> sends_;
  std::map<Key, Incoming> receives_;
  std::set<Key> cancelled_;  // receives that were given up: their messages are to be dropped
  std::set<std::pair<Key, bool>> used_;
  std::vector<Report> reports_;
  std::set<Rank> held_, lost_;
  std::set<std::pair<Rank, Tag>> damaged_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_FAKE_PEER_GROUP_H_
