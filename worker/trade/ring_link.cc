// SPDX-License-Identifier: Apache-2.0
#include "worker/trade/ring_link.h"

#include <algorithm>
#include <utility>

namespace gg {
namespace {

// Blocks of the notes' tags; those of samples are attempts, far below.
constexpr uint32_t kReceipts = 1 << 20;
constexpr uint32_t kQuestions = kReceipts + 1;
// Damaged messages that are asked for again at once; later ones wait to be asked for as late.
constexpr uint32_t kQuickAttempts = 8;
// How far ahead of ours a neighbour's trades can be: far more than it may have in flight.
constexpr uint64_t kFarAhead = 1024;

}  // namespace

std::shared_ptr<RingLink> RingLink::Open(PeerGroup& group, Rank left, Rank right,
                                         size_t message_bytes) {
  std::shared_ptr<RingLink> link(new RingLink(group, left, right, message_bytes));
  const std::weak_ptr<RingLink> weak = link;
  const auto lost = [weak](absl::Status RingLink::*failure) {
    return [weak, failure](const absl::Status& why) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      MutexLock lock(&self->monitor_.mu);
      Fail((*self).*failure, why);
      self->monitor_.changed.NotifyAll();
    };
  };
  link->left_notes_ = std::make_shared<NoteLine>(
      group, left, kQuestions, kReceipts,
      [weak](const NoteLine::Note& note) {
        if (const auto self = weak.lock()) self->OnNoteFromLeft(note);
      },
      lost(&RingLink::left_failure_));
  link->right_notes_ = std::make_shared<NoteLine>(
      group, right, kReceipts, kQuestions,
      [weak](const NoteLine::Note&) {
        if (const auto self = weak.lock()) self->TellRight(0, 0);
      },
      lost(&RingLink::right_failure_));
  link->left_notes_->Listen();
  link->right_notes_->Listen();
  return link;
}

void RingLink::Fail(absl::Status& failure, const absl::Status& why) {
  if (failure.ok()) failure = why;
}

std::shared_ptr<RingLink::Message> RingLink::Buffer() {
  MutexLock lock(&monitor_.mu);
  for (const std::shared_ptr<Message>& buffer : buffers_) {
    if (buffer.use_count() == 1) return buffer;  // nobody else has it, so nobody can take it up
  }
  buffers_.push_back(std::make_shared<Message>(message_bytes_));
  return buffers_.back();
}

void RingLink::Begin(std::shared_ptr<Message> outgoing, absl::Time due) {
  const std::shared_ptr<Message> into = Buffer();
  uint64_t trade = 0;
  uint32_t attempt = 0;
  {
    MutexLock lock(&monitor_.mu);
    trade = begun_++;
    if (const auto asked = early_.find(trade); asked != early_.end()) {
      attempt = asked->second;
      early_.erase(asked);
    }
    outgoing_.push_back({trade, outgoing, attempt, due});
    incoming_.push_back({trade, into});
  }
  // The place first: what the neighbour has sent already need not wait in the transport.
  Receive(trade, 0, into);
  Send(trade, attempt, std::move(outgoing));
}

void RingLink::Send(uint64_t trade, uint32_t attempt, std::shared_ptr<Message> message) {
  const ConstBytes bytes(*message);
  group_.Send(left_, {Channel::kTrade, trade, attempt}, bytes,
              [self = shared_from_this(),
               message = std::move(message)](const absl::Status& status) { self->OnSent(status); });
}

void RingLink::OnSent(const absl::Status& status) {
  MutexLock lock(&monitor_.mu);  // also orders the transport's reading before the buffer's next use
  if (status.ok()) return;
  Fail(left_failure_, status);
  monitor_.changed.NotifyAll();
}

void RingLink::Receive(uint64_t trade, uint32_t attempt, std::shared_ptr<Message> message) {
  const Bytes bytes = absl::MakeSpan(*message);
  group_.Recv(right_, {Channel::kTrade, trade, attempt}, bytes,
              [self = shared_from_this(), trade, message = std::move(message)](
                  const absl::Status& status) { self->OnSamples(trade, status); });
}

RingLink::Incoming* RingLink::Find(uint64_t trade) {
  for (Incoming& incoming : incoming_) {
    if (incoming.trade == trade) return &incoming;
  }
  return nullptr;
}

void RingLink::OnSamples(uint64_t trade, const absl::Status& status) {
  if (status.ok()) return OnArrived(trade);
  std::shared_ptr<Message> again;
  uint32_t attempt = 0;
  {
    MutexLock lock(&monitor_.mu);
    Incoming* const incoming = Find(trade);
    if (closed_ || incoming == nullptr) return;
    const bool given_up = incoming->state == State::kGivenUp;
    const bool damaged = absl::IsDataLoss(status);
    if (damaged) ++damaged_;
    if (damaged && !given_up && incoming->attempt >= kQuickAttempts) {
      incoming->state = State::kIdle;
    } else if (damaged || (given_up && absl::IsCancelled(status))) {
      incoming->state = State::kExpected;
      attempt = ++incoming->attempt;
      again = incoming->message;
    } else {
      Fail(right_failure_, status);
      monitor_.changed.NotifyAll();
    }
  }
  if (again == nullptr) return;
  Receive(trade, attempt, std::move(again));
  TellRight(trade, attempt);
}

void RingLink::OnArrived(uint64_t trade) {
  uint64_t below = 0;
  {
    MutexLock lock(&monitor_.mu);
    if (closed_ || Find(trade) == nullptr) return;
    below = begun_;
    for (const Incoming& i : incoming_) {
      if (i.state != State::kArrived && i.trade != trade) below = std::min(below, i.trade);
    }
  }
  // Before anybody here can see it: who sees the last trade may close the link.
  right_notes_->Send({below, 0, 0});
  MutexLock lock(&monitor_.mu);
  if (Incoming* const incoming = Find(trade)) incoming->state = State::kArrived;
  arrived_below_ = std::max(arrived_below_, below);
  monitor_.changed.NotifyAll();
}

bool RingLink::arrived(uint64_t trade) const {
  for (const Incoming& incoming : incoming_) {
    if (incoming.trade == trade) return incoming.state == State::kArrived;
  }
  return false;
}

std::shared_ptr<const RingLink::Message> RingLink::Take(uint64_t trade) {
  MutexLock lock(&monitor_.mu);
  const auto taken = std::find_if(incoming_.begin(), incoming_.end(),
                                  [trade](const Incoming& i) { return i.trade == trade; });
  std::shared_ptr<Message> message = std::move(taken->message);
  incoming_.erase(taken);
  return message;
}

void RingLink::TellRight(uint64_t trade, uint32_t attempt) {
  uint64_t below = 0;
  {
    MutexLock lock(&monitor_.mu);
    if (closed_) return;
    below = arrived_below_;
  }
  right_notes_->Send({below, trade, attempt});
}

void RingLink::OnNoteFromLeft(const NoteLine::Note& note) {
  const uint64_t below = note[0], trade = note[1], asked = note[2];
  std::shared_ptr<Message> message;
  const auto attempt = static_cast<uint32_t>(asked);
  {
    MutexLock lock(&monitor_.mu);
    // Nonsense is not heard: no neighbour has more than was sent, or asks that often.
    if (closed_ || below > begun_ || asked >= kReceipts || trade >= begun_ + kFarAhead) return;
    while (!outgoing_.empty() && outgoing_.front().trade < below) outgoing_.pop_front();
    if (attempt > 0 && trade >= begun_) {
      uint32_t& early = early_[trade];
      early = std::max(early, attempt);
    } else if (attempt > 0) {
      const auto sent = std::find_if(outgoing_.begin(), outgoing_.end(),
                                     [&](const Outgoing& o) { return o.trade == trade; });
      if (sent != outgoing_.end() && attempt > sent->attempt) {
        sent->attempt = attempt;
        message = sent->message;
        ++repeated_;
      }
    }
    monitor_.changed.NotifyAll();
  }
  if (message != nullptr) Send(trade, attempt, std::move(message));
}

void RingLink::AskAgain(uint64_t trade) {
  uint32_t expected = 0, next = 0;
  std::shared_ptr<Message> message;
  {
    MutexLock lock(&monitor_.mu);
    Incoming* const incoming = Find(trade);
    if (closed_ || incoming == nullptr || !right_failure_.ok()) return;
    if (incoming->state == State::kExpected || incoming->state == State::kGivenUp) {
      // OnSamples asks once the transport has given the memory back. A second time, because the
      // first may have come before the receive was posted.
      incoming->state = State::kGivenUp;
      expected = incoming->attempt;
    } else if (incoming->state == State::kIdle) {
      incoming->state = State::kExpected;
      next = ++incoming->attempt;
      message = incoming->message;
    } else {
      return;
    }
  }
  if (message == nullptr) {
    group_.CancelRecv(right_, {Channel::kTrade, trade, expected});
    return;
  }
  Receive(trade, next, std::move(message));
  TellRight(trade, next);
}

void RingLink::AskWhatArrived() {
  left_notes_->Send({});
}

void RingLink::Close() {
  std::vector<std::pair<uint64_t, uint32_t>> expected;
  {
    MutexLock lock(&monitor_.mu);
    if (closed_) return;
    closed_ = true;
    for (const Incoming& incoming : incoming_) {
      if (incoming.state != State::kArrived) {
        expected.emplace_back(incoming.trade, incoming.attempt);
      }
    }
    outgoing_.clear();
  }
  left_notes_->Close();
  right_notes_->Close();
  for (const auto& [trade, attempt] : expected) {
    group_.CancelRecv(right_, {Channel::kTrade, trade, attempt});
  }
}

}  // namespace gg
