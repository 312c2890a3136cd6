// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

absl::Status Closed() {
  return absl::CancelledError("the group was closed");
}

}  // namespace

GroupState::GroupState(absl::string_view job, const View& the_view, Rank own,
                       const TransportOptions& options)
    : job_id(job), view(the_view), self(own), from(the_view.members.size()) {
  for (Rank peer = 0; peer < view.size(); ++peer) {
    if (peer == self) continue;
    from[peer] = std::make_unique<TagMatcher>(PeerName(peer), options.unexpected_bytes, &counters);
  }
}

std::string GroupState::PeerName(Rank peer) const {
  return absl::StrCat("rank ", peer, " (", view.members[peer].worker_id, ")");
}

Group::Group(Loop* loop, std::unique_ptr<GroupState> state, std::unique_ptr<Wire> wire)
    : loop_(loop), state_(std::move(state)), wire_(std::move(wire)), sending_(state_->view.size()) {
  loop_->RunSync([this] { wire_->Open(); });
}

Group::~Group() {
  Run([this] {
    closing_ = true;
    {
      MutexLock lock(&monitor_.mu);
      ++operations_;  // the wire's closing
    }
    wire_->Close([this] {
      MutexLock lock(&monitor_.mu);
      --operations_;
      monitor_.changed.NotifyAll();
    });
    for (auto& matcher : state_->from) {
      if (matcher != nullptr) matcher->End(Closed());
    }
  });
  MutexLock lock(&monitor_.mu);
  RealClock().Await(
      monitor_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return operations_ == 0; },
      absl::InfiniteFuture());
}

Done Group::BeginOperation(Done done) {
  {
    MutexLock lock(&monitor_.mu);
    ++operations_;
  }
  return [this, done = std::move(done)](absl::Status status) mutable {
    {
      Done once = std::move(done);
      once(std::move(status));
    }
    MutexLock lock(&monitor_.mu);
    --operations_;
    monitor_.changed.NotifyAll();
  };
}

void Group::Run(Loop::Task task) {
  loop_->Post([task = std::move(task), over = BeginOperation([](absl::Status) {})]() mutable {
    task();
    over(absl::OkStatus());
  });
}

absl::Status Group::CheckPeer(Rank peer, absl::string_view operation, Tag tag) const {
  if (peer >= 0 && peer < state_->view.size() && peer != state_->self) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(operation, " of ", DescribeTag(tag), ": rank ", peer, " is ",
                   peer == state_->self ? "this worker itself"
                                        : absl::StrCat("not in the view of ", state_->view.size()),
                   "; peers are the other ranks of the view"));
}

void Group::Send(Rank to, Tag tag, ConstBytes from, Done done) {
  loop_->Post([this, to, tag, from, done = BeginOperation(std::move(done))]() mutable {
    DoSend(to, tag, from, std::move(done));
  });
}

void Group::DoSend(Rank to, Tag tag, ConstBytes from, Done done) {
  if (absl::Status status = CheckPeer(to, "Send", tag); !status.ok()) return done(status);
  if (closing_) return done(Closed());
  if (!sending_[to].insert(tag).second) {
    return done(absl::AlreadyExistsError(absl::StrCat("Send of ", DescribeTag(tag), " to ",
                                                      state_->PeerName(to),
                                                      ": one with this tag is pending already")));
  }
  wire_->Send(
      to, {tag, from, [this, to, tag, from, done = std::move(done)](absl::Status status) mutable {
             sending_[to].erase(tag);
             if (status.ok()) state_->counters.Sent(from.size());
             done(std::move(status));
           }});
}

void Group::Recv(Rank from, Tag tag, Bytes into, Done done) {
  // Run: a message that waits ends the Recv at once, and the group may be gone with it; what follows
  // is an operation of its own.
  Run([this, from, tag, into, done = BeginOperation(std::move(done))]() mutable {
    if (absl::Status status = CheckPeer(from, "Recv", tag); !status.ok()) return done(status);
    state_->from[from]->Post(tag, into, std::move(done));
    if (!closing_) wire_->Resume(from);
  });
}

void Group::CancelRecv(Rank from, Tag tag) {
  Run([this, from, tag] {
    if (closing_ || !CheckPeer(from, "CancelRecv", tag).ok()) return;
    state_->from[from]->Cancel(tag);
    wire_->Resume(from);
  });
}

void Group::Expire(Channel channel, uint64_t step) {
  Run([this, channel, step] {
    for (Rank peer = 0; peer < state_->view.size() && !closing_; ++peer) {
      if (peer == state_->self) continue;
      state_->from[peer]->Expire(channel, step);
      wire_->Resume(peer);
    }
  });
}

std::string Group::DescribePeer(Rank peer) const {
  if (peer == state_->self) return "this worker itself";
  if (peer < 0 || peer >= state_->view.size())
    return absl::StrCat("no rank ", peer, " in the view");
  std::string text;
  loop_->RunSync([&] { text = wire_->Describe(peer); });
  return text;
}

bool GroupTable::Contains(absl::string_view job_id, uint64_t view) const {
  GroupState* ignored;
  return Find(job_id, view, &ignored) == Verdict::kOpen;
}

GroupTable::Verdict GroupTable::Find(absl::string_view job_id, uint64_t view,
                                     GroupState** group) const {
  for (GroupState* open : open_) {
    if (open->view.number == view && open->job_id == job_id) {
      *group = open;
      return Verdict::kOpen;
    }
  }
  const auto it = newest_view_.find(job_id);
  return it != newest_view_.end() && view <= it->second ? Verdict::kGone : Verdict::kNotYet;
}

void GroupTable::Add(GroupState* group) {
  open_.push_back(group);
  uint64_t& newest = newest_view_[group->job_id];
  newest = std::max(newest, group->view.number);
}

void GroupTable::Remove(GroupState* group) {
  std::erase(open_, group);
}

void GroupTable::CountStale(absl::string_view job_id) {
  for (auto it = open_.rbegin(); it != open_.rend(); ++it) {
    if ((*it)->job_id == job_id) return (*it)->counters.DroppedStale();
  }
  if (!open_.empty()) open_.back()->counters.DroppedStale();
}

absl::Status AlreadyJoined(absl::string_view job_id, const View& view) {
  return absl::AlreadyExistsError(
      absl::StrCat("view ", view.number, " of job ", job_id, " is open on this transport already"));
}

absl::Status CheckJoin(const View& view, Rank self, absl::string_view local_address) {
  if (self < 0 || self >= view.size()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot join view ", view.number, ": own rank ",
                                                   self, " is not among its ", view.size(),
                                                   " members"));
  }
  if (view.members[self].address != local_address) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot join view ", view.number, " as rank ", self, ": the view gives it the address '",
        view.members[self].address, "', this transport is '", local_address, "'"));
  }
  return absl::OkStatus();
}

}  // namespace gg
