// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/inproc/inproc_transport.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/status.h"
#include "worker/transport/group.h"
#include "worker/transport/loop.h"

namespace gg {
namespace {

class InprocWire;

// One transport as the network sees it.
struct Endpoint {
  std::string address;
  TransportOptions options;
  GroupTable groups;
};

// All of it on the loop's thread, but for `loop` itself.
struct Hub {
  std::map<std::string, Endpoint*> endpoints;
  std::vector<InprocWire*> wires;
  uint64_t next_address = 0;
  LocalLoop loop{RealClock()};  // last: its thread ends before the rest goes
};

class InprocWire final : public Wire {
 public:
  InprocWire(Hub* hub, Endpoint* endpoint, GroupState* group)
      : hub_(hub), endpoint_(endpoint), group_(group), links_(group->view.size()) {}

  void Open() override {
    endpoint_->groups.Add(group_);
    hub_->wires.push_back(this);
    ForEachPeer([&](InprocWire* peer) {
      peer->group_->from[group_->self]->SetPresent();
      peer->Pump(group_->self);
    });
  }

  void Send(Rank to, OutgoingMessage message) override {
    links_[to].waiting.push_back(std::move(message));
    Pump(to);
  }

  void Resume(Rank from) override {
    ForEachPeer([&](InprocWire* peer) {
      if (peer->group_->self == from) peer->Pump(group_->self);
    });
  }

  void Close(Loop::Task closed) override {
    endpoint_->groups.Remove(group_);
    std::erase(hub_->wires, this);
    for (Rank to = 0; to < group_->view.size(); ++to) {
      FailAll(to, absl::CancelledError("the group was closed"));
    }
    const absl::Status left = absl::UnavailableError(
        absl::StrCat(group_->PeerName(group_->self), " has left view ", group_->view.number));
    ForEachPeer([&](InprocWire* peer) {
      peer->group_->from[group_->self]->SetLost(left);
      peer->FailAll(group_->self, left);
    });
    closed();
  }

  std::string Describe(Rank peer) const override {
    return hub_->endpoints.contains(group_->view.members[peer].address)
               ? "inproc, connected"
               : "inproc, its transport is gone";
  }

 private:
  struct Link {
    std::deque<OutgoingMessage> waiting;
    std::optional<Loop::TimerId> join_timer;  // set while the peer has not joined the view
  };

  // Every open group of the same view of the same job that knows this one as the same member.
  void ForEachPeer(absl::FunctionRef<void(InprocWire*)> visit) {
    for (InprocWire* wire : hub_->wires) {
      if (wire != this && wire->group_->job_id == group_->job_id &&
          wire->group_->view == group_->view) {
        visit(wire);
      }
    }
  }

  void FailAll(Rank to, const absl::Status& why) {
    Link& link = links_[to];
    StopTimer(link);
    for (OutgoingMessage& message : std::exchange(link.waiting, {})) {
      message.done(Annotate(why, absl::StrCat("Send of ", DescribeTag(message.tag))));
    }
  }

  void StopTimer(Link& link) {
    if (link.join_timer) hub_->loop.CancelTimer(*link.join_timer);
    link.join_timer.reset();
  }

  void Refuse(Rank to, Endpoint* peer, const absl::Status& why) {
    for (size_t i = 0; i < links_[to].waiting.size(); ++i) peer->groups.CountStale(group_->job_id);
    FailAll(to, why);
  }

  // Moves what can be moved to `to`.
  void Pump(Rank to) {
    Link& link = links_[to];
    while (!link.waiting.empty()) {
      const auto endpoint = hub_->endpoints.find(group_->view.members[to].address);
      if (endpoint == hub_->endpoints.end()) {
        return FailAll(to, absl::UnavailableError(
                               absl::StrCat(group_->PeerName(to), " is gone: no transport at '",
                                            group_->view.members[to].address, "'")));
      }
      GroupState* target = nullptr;
      switch (endpoint->second->groups.Find(group_->job_id, group_->view.number, &target)) {
        case GroupTable::Verdict::kNotYet:
          return AwaitJoin(to, link, endpoint->second);
        case GroupTable::Verdict::kGone:
          return Refuse(
              to, endpoint->second,
              absl::UnavailableError(absl::StrCat(group_->PeerName(to), " is not in view ",
                                                  group_->view.number, " any more")));
        case GroupTable::Verdict::kOpen:
          break;
      }
      StopTimer(link);
      if (target->view != group_->view || target->self != to) {
        return Refuse(to, endpoint->second,
                      absl::UnavailableError(absl::StrCat(group_->PeerName(to),
                                                          " has another idea of who is in view ",
                                                          group_->view.number)));
      }
      TagMatcher& matcher = *target->from[group_->self];
      const ConstBytes bytes = link.waiting.front().bytes;
      if (!matcher.Begin(link.waiting.front().tag, bytes.size())) return;
      OutgoingMessage message = std::move(link.waiting.front());
      link.waiting.pop_front();
      uint8_t* into = matcher.Destination();
      if (into != nullptr && !bytes.empty()) std::memcpy(into, bytes.data(), bytes.size());
      matcher.Advance(bytes.size());
      matcher.Commit();
      message.done(absl::OkStatus());
    }
  }

  void AwaitJoin(Rank to, Link& link, Endpoint* peer) {
    if (link.join_timer) return;
    const std::string address = peer->address;
    link.join_timer = hub_->loop.After(peer->options.join_grace, [this, to, address] {
      links_[to].join_timer.reset();
      const auto endpoint = hub_->endpoints.find(address);
      if (endpoint == hub_->endpoints.end()) return Pump(to);
      Refuse(to, endpoint->second,
             absl::UnavailableError(
                 absl::StrCat(group_->PeerName(to), " did not join view ", group_->view.number,
                              " of job ", group_->job_id, " within ",
                              absl::FormatDuration(endpoint->second->options.join_grace))));
    });
  }

  Hub* const hub_;
  Endpoint* const endpoint_;
  GroupState* const group_;
  std::vector<Link> links_;
};

class InprocTransport final : public Transport {
 public:
  InprocTransport(Hub* hub, const TransportOptions& options) : hub_(hub) {
    endpoint_.options = options;
    hub_->loop.RunSync([this] {
      endpoint_.address = absl::StrCat("inproc://", hub_->next_address++);
      hub_->endpoints.emplace(endpoint_.address, &endpoint_);
    });
  }

  ~InprocTransport() override {
    hub_->loop.RunSync([this] { hub_->endpoints.erase(endpoint_.address); });
  }

  absl::string_view name() const override { return "inproc"; }
  std::string local_address() const override { return endpoint_.address; }

  absl::StatusOr<std::unique_ptr<PeerGroup>> Join(absl::string_view job_id, const View& view,
                                                  Rank self) override {
    GG_RETURN_IF_ERROR(CheckJoin(view, self, endpoint_.address));
    bool open = false;
    hub_->loop.RunSync([&] { open = endpoint_.groups.Contains(job_id, view.number); });
    if (open) return AlreadyJoined(job_id, view);
    auto state = std::make_unique<GroupState>(job_id, view, self, endpoint_.options);
    auto wire = std::make_unique<InprocWire>(hub_, &endpoint_, state.get());
    return std::make_unique<Group>(&hub_->loop, std::move(state), std::move(wire));
  }

 private:
  Hub* const hub_;
  Endpoint endpoint_;
};

class Network final : public InprocNetwork {
 public:
  std::unique_ptr<Transport> MakeTransport(const TransportOptions& options) override {
    return std::make_unique<InprocTransport>(&hub_, options);
  }

 private:
  Hub hub_;
};

}  // namespace

std::unique_ptr<InprocNetwork> MakeInprocNetwork() {
  return std::make_unique<Network>();
}

}  // namespace gg
