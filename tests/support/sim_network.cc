// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_network.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rng.h"

namespace gg {

class SimNetwork::Group final : public PeerGroup {
 public:
  Group(SimNetwork& network, Rank self) : network_(network), self_(self) {}
  ~Group() override { network_.Leave(self_); }
  const View& view() const override { return network_.view_; }
  Rank self() const override { return self_; }
  void Send(Rank to, Tag tag, ConstBytes from, Done done) override {
    network_.Send(self_, to, tag, from, std::move(done));
  }
  void Recv(Rank from, Tag tag, Bytes into, Done done) override {
    network_.Recv(self_, from, tag, into, std::move(done));
  }
  void CancelRecv(Rank from, Tag tag) override { network_.CancelRecv(self_, from, tag); }
  void Expire(Channel channel, uint64_t step) override { network_.Expire(self_, channel, step); }
  PeerStats stats() const override { return {}; }
  std::string DescribePeer(Rank /*peer*/) const override { return "simulated"; }

 private:
  SimNetwork& network_;
  const Rank self_;
};

SimNetwork::SimNetwork(SimClock& clock, int size, SimNetworkOptions options)
    : clock_(clock), options_(options) {
  view_.number = 1;
  for (Rank r = 0; r < size; ++r) {
    const std::string host = options_.hosts.empty() ? absl::StrCat("host-", r) : options_.hosts[r];
    view_.members.push_back(
        {absl::StrCat("worker-", r), absl::StrCat("sim://", r), {{"host", host}}});
  }
}

SimNetwork::~SimNetwork() = default;

std::unique_ptr<PeerGroup> SimNetwork::Join(Rank rank) {
  return std::make_unique<Group>(*this, rank);
}

void SimNetwork::Later(Done done, absl::Status status) {
  clock_.After(absl::ZeroDuration(),
               [done = std::move(done), status]() mutable { done(std::move(status)); });
}

bool SimNetwork::Separated(Rank a, Rank b) const {
  return one_side_.contains(a) != one_side_.contains(b);
}

SimFate SimNetwork::Decide(Rank from, Rank to, const Tag& tag) {
  SimFate decided = fate ? fate(from, to, tag) : SimFate();
  // A stream per message: no message's fate depends on when another was sent.
  Rng rng(
      options_.seed,
      absl::StrCat("message/", from, "/", to, "/", static_cast<int>(tag.channel), "/", tag.block),
      tag.step);
  const double spread = absl::ToDoubleSeconds(options_.max_delay - options_.min_delay);
  // Whole microseconds, so that a transcript can say exactly when something happened.
  decided.extra_delay +=
      options_.min_delay + absl::Microseconds(static_cast<int64_t>(spread * 1e6 * rng.Uniform()));
  if (rng.Uniform() < options_.drop_share) decided.kind = SimFate::kVanishes;
  if (silent_.contains(from) || silent_.contains(to)) decided.kind = SimFate::kVanishes;
  return decided;
}

void SimNetwork::Send(Rank from, Rank to, Tag tag, ConstBytes bytes, Done done) {
  if (killed(from) || killed(to)) {
    return Later(std::move(done), absl::UnavailableError("the process is gone"));
  }
  if (on_send) on_send(from, to, tag, bytes);
  auto message = std::make_shared<Message>(
      Message{from, to, tag, bytes, std::move(done), Decide(from, to, tag)});
  under_way_.insert(message);
  absl::Time& last = last_arrival_[{from, to, tag.channel}];
  const absl::Time alone = clock_.Now() + message->fate.extra_delay;
  const absl::Time arrival = message->fate.may_overtake ? alone : std::max(last, alone);
  if (arrival < last) ++overtakings_;
  last = std::max(last, arrival);
  clock_.After(arrival - clock_.Now(), [this, message] {
    if (!message->done) return;
    if (Separated(message->from, message->to)) {
      held_.push_back(message);
    } else {
      Arrive(message);
    }
  });
}

void SimNetwork::Finish(const MessagePtr& message, absl::Status status) {
  under_way_.erase(message);
  if (message->done) std::exchange(message->done, Done())(std::move(status));
}

void SimNetwork::Arrive(MessagePtr message) {
  if (message->fate.kind == SimFate::kVanishes) {
    ++vanished_;
    return Finish(message, absl::OkStatus());
  }
  const Key key = {message->to, message->from, message->tag};
  if (message->tag.step < first_live_step_[{message->to, message->tag.channel}] ||
      cancelled_.erase(key) > 0) {
    ++stale_;
    return Finish(message, absl::OkStatus());
  }
  Stored stored;
  stored.bytes.assign(message->bytes.begin(), message->bytes.end());
  if (message->fate.kind == SimFate::kIsCorrupt) {
    stored.status = absl::DataLossError("the checksum does not match");
  }
  if (message->fate.kind == SimFate::kArrivesTwice) {
    clock_.After(absl::Milliseconds(1),
                 [this, key, bytes = stored.bytes] { ArriveAgain(key, bytes); });
  }
  if (auto it = posted_.find(key); it != posted_.end()) {
    Posted posted = std::move(it->second);
    posted_.erase(it);
    Give(key, std::move(posted), stored);
    return Finish(message, absl::OkStatus());
  }
  ++early_;
  if (options_.rendezvous) {
    stored.sender = message;
  } else {
    Finish(message, absl::OkStatus());
  }
  stored_.emplace(key, std::move(stored));
}

void SimNetwork::ArriveAgain(const Key& key, std::vector<uint8_t> bytes) {
  ++repeated_;
  const auto& [to, from, tag] = key;
  if (tag.step < first_live_step_[{to, tag.channel}]) {
    ++stale_;
    return;
  }
  Stored stored;
  stored.bytes = std::move(bytes);
  if (auto it = posted_.find(key); it != posted_.end()) {
    Posted posted = std::move(it->second);
    posted_.erase(it);
    return Give(key, std::move(posted), stored);
  }
  stored_.emplace(key, std::move(stored));
}

void SimNetwork::Ended(const Key& key, const absl::Status& status) {
  if (on_recv_end) on_recv_end(std::get<0>(key), std::get<1>(key), std::get<2>(key), status);
}

void SimNetwork::Give(const Key& key, Posted posted, const Stored& stored) {
  absl::Status status = stored.status;
  if (status.ok() && stored.bytes.size() != posted.into.size()) {
    status = absl::InvalidArgumentError("the message has another size");
  }
  if (status.ok()) {
    std::copy(stored.bytes.begin(), stored.bytes.end(), posted.into.begin());
  }
  Ended(key, status);
  posted.done(std::move(status));
}

void SimNetwork::Recv(Rank self, Rank from, Tag tag, Bytes into, Done done) {
  const Key key = {self, from, tag};
  if (tag.step < first_live_step_[{self, tag.channel}]) {
    return Later(std::move(done), absl::CancelledError("that step is over"));
  }
  if (auto it = stored_.find(key); it != stored_.end()) {
    auto stored = std::make_shared<Stored>(std::move(it->second));
    stored_.erase(it);
    auto posted = std::make_shared<Posted>(Posted{into, std::move(done)});
    clock_.After(absl::ZeroDuration(), [this, key, stored, posted] {
      Give(key, std::move(*posted), *stored);
      if (stored->sender) Finish(stored->sender, absl::OkStatus());
    });
    return;
  }
  if (killed(self) || killed(from)) {
    return Later(std::move(done), absl::UnavailableError("the process is gone"));
  }
  cancelled_.erase(key);
  posted_.emplace(key, Posted{into, std::move(done)});
}

std::map<SimNetwork::Key, SimNetwork::Posted>::iterator SimNetwork::EndRecv(
    std::map<Key, Posted>::iterator it, const absl::Status& status) {
  Ended(it->first, status);
  Later(std::move(it->second.done), status);
  return posted_.erase(it);
}

void SimNetwork::CancelRecv(Rank self, Rank from, Tag tag) {
  const Key key = {self, from, tag};
  const auto it = posted_.find(key);
  if (it == posted_.end()) return;
  cancelled_.insert(key);
  EndRecv(it, absl::CancelledError("given up"));
}

void SimNetwork::Expire(Rank self, Channel channel, uint64_t step) {
  uint64_t& first = first_live_step_[{self, channel}];
  first = std::max(first, step);
  const auto over = [&](const Key& key) {
    const auto& [to, from, tag] = key;
    return to == self && tag.channel == channel && tag.step < step;
  };
  // Large clusters have many receives open: look at those of this worker alone.
  const Key begin = {self, -1, Tag{}};
  const auto ours = [self](const Key& key) { return std::get<0>(key) == self; };
  for (auto it = posted_.lower_bound(begin); it != posted_.end() && ours(it->first);) {
    it = over(it->first) ? EndRecv(it, absl::CancelledError("that step is over")) : std::next(it);
  }
  for (auto it = stored_.lower_bound(begin); it != stored_.end() && ours(it->first);) {
    if (!over(it->first)) {
      ++it;
      continue;
    }
    ++stale_;
    if (it->second.sender) {
      const MessagePtr sender = it->second.sender;
      clock_.After(absl::ZeroDuration(), [this, sender] { Finish(sender, absl::OkStatus()); });
    }
    it = stored_.erase(it);
  }
}

void SimNetwork::Kill(Rank rank) {
  killed_.insert(rank);
  const absl::Status gone = absl::UnavailableError("the process is gone");
  for (auto it = posted_.begin(); it != posted_.end();) {
    const auto& [to, from, tag] = it->first;
    it = to == rank || from == rank ? EndRecv(it, gone) : std::next(it);
  }
  std::vector<MessagePtr> lost;
  for (const MessagePtr& message : under_way_) {
    if (message->from == rank || message->to == rank) lost.push_back(message);
  }
  // Not in the order of addresses, which differ from run to run.
  std::sort(lost.begin(), lost.end(), [](const MessagePtr& a, const MessagePtr& b) {
    return std::tie(a->from, a->to, a->tag) < std::tie(b->from, b->to, b->tag);
  });
  for (const MessagePtr& message : lost) Finish(message, gone);
}

void SimNetwork::Heal() {
  one_side_.clear();
  for (const MessagePtr& message : std::exchange(held_, {})) {
    if (message->done) Arrive(message);
  }
}

void SimNetwork::Leave(Rank rank) {
  const absl::Status closed = absl::CancelledError("the group was closed");
  for (auto it = posted_.begin(); it != posted_.end();) {
    if (std::get<0>(it->first) == rank) {
      it->second.done(closed);
      it = posted_.erase(it);
    } else {
      ++it;
    }
  }
  for (const MessagePtr& message : std::set<MessagePtr>(under_way_)) {
    if (message->from == rank) Finish(message, closed);
  }
}

}  // namespace gg
