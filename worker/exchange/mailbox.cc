// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/mailbox.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/round_notes.h"

namespace gg {
namespace {

constexpr uint32_t kNoteBlock = 1;  // RoundNotes have 0
constexpr uint32_t kBodyBlock = 2;

ConstBytes AsBytes(const uint64_t* words, size_t count) {
  return ConstBytes(reinterpret_cast<const uint8_t*>(words), count * sizeof(uint64_t));
}

}  // namespace

Mailbox::Mailbox(Device& device, PeerGroup& group, Clock& clock, int size, size_t max_floats,
                 int pool, WireFormat format)
    : device_(device),
      group_(group),
      link_(FloatLink::Create(group, format)),
      clock_(clock),
      max_floats_(max_floats),
      pool_(pool > 0 ? std::min(pool, kHeldPerPeer * (size - 1)) : kHeldPerPeer * (size - 1)),
      peers_(size) {}

std::shared_ptr<Mailbox> Mailbox::Create(Device& device, PeerGroup& group, Clock& clock, int size,
                                         size_t max_floats, int pool, WireFormat format) {
  std::shared_ptr<Mailbox> mailbox(
      new Mailbox(device, group, clock, size, max_floats, pool, format));
  for (Rank from = 0; from < size; ++from) {
    if (from != group.self()) mailbox->Expect(from);
  }
  return mailbox;
}

Tag Mailbox::NoteTag(uint64_t number) {
  return {Channel::kExchange, RoundNotes::kFirst + number, kNoteBlock};
}

Flat Mailbox::BodyOf(Buffer& buffer, size_t floats) {
  return buffer.floats().subspan(0, floats);
}

Tag Mailbox::BodyTag(uint64_t number) {
  return {Channel::kExchange, RoundNotes::kFirst + number, kBodyBlock};
}

absl::StatusOr<Flat> Mailbox::Outgoing(Rank to) {
  Peer& peer = peers_[to];
  std::unique_ptr<Buffer> buffer;
  {
    MutexLock lock(&monitor_.mu);
    if (peer.offered == nullptr) {
      const bool full = peer.bodies >= kHeldPerPeer || sending_ >= pool_ || !aborted_.ok() ||
                        static_cast<int>(peer.queue.size()) >= kQueuedPerPeer;
      if (full) return Flat();
      if (!free_outgoing_.empty()) {
        buffer = std::move(free_outgoing_.back());
        free_outgoing_.pop_back();
      }
    }
  }
  if (peer.offered == nullptr) {
    if (buffer == nullptr) {
      auto allocated = device_.Allocate(max_floats_ * sizeof(float));
      if (!allocated.ok()) return Annotate(allocated.status(), "buffers of the exchange");
      buffer = *std::move(allocated);
    }
    MutexLock lock(&monitor_.mu);
    peer.offered = std::move(buffer);
    ++peer.bodies;
    ++sending_;
  }
  return peer.offered->floats().subspan(0, max_floats_);
}

void Mailbox::Round(Rank to, size_t floats) {
  uint64_t body_number = 0;
  {
    MutexLock lock(&monitor_.mu);
    body_number = peers_[to].next_body;
  }
  link_->Round(BodyTag(body_number), BodyOf(*peers_[to].offered, floats), FloatLink::Draw::kOwn);
}

void Mailbox::Push(Rank to, const PushNote& note, size_t floats) {
  auto push = std::make_shared<Outbound>();
  push->note = note;
  push->floats = floats;
  {
    MutexLock lock(&monitor_.mu);
    push->buffer = std::move(peers_[to].offered);
    if (!EnqueueLocked(to, std::move(push))) return;
  }
  Announce(to);
}

bool Mailbox::Push(Rank to, const PushNote& note) {
  auto push = std::make_shared<Outbound>();
  push->note = note;
  {
    MutexLock lock(&monitor_.mu);
    if (static_cast<int>(peers_[to].queue.size()) >= kQueuedPerPeer) return false;
    if (!EnqueueLocked(to, std::move(push))) return true;
  }
  Announce(to);
  return true;
}

// Whether the caller is to announce it.
bool Mailbox::EnqueueLocked(Rank to, std::shared_ptr<Outbound> push) {
  Peer& peer = peers_[to];
  if (push->floats > 0) push->body_number = peer.next_body++;
  push->words = {push->note.kind,   push->note.step,
                 push->note.number, std::bit_cast<uint64_t>(push->note.weight),
                 push->floats,      push->body_number};
  peer.queue.push_back(std::move(push));
  return !std::exchange(peer.announcing, true);
}

// By whoever has set `announcing`.
void Mailbox::Announce(Rank to) {
  std::shared_ptr<Outbound> push;
  uint64_t number = 0;
  {
    MutexLock lock(&monitor_.mu);
    push = peers_[to].queue.front();
    number = peers_[to].next_note;
  }
  group_.Send(to, NoteTag(number), AsBytes(push->words.data(), push->words.size()),
              [self = shared_from_this(), to, push](absl::Status status) {
                self->OnAnnounced(to, push, status);
              });
}

void Mailbox::OnAnnounced(Rank to, const std::shared_ptr<Outbound>& push,
                          const absl::Status& status) {
  Peer& peer = peers_[to];
  if (status.ok() && push->floats > 0) {
    // Before the next note, so that bodies and notes keep one order.
    link_->Send(to, BodyTag(push->body_number), BodyOf(*push->buffer, push->floats),
                [self = shared_from_this(), to, push](absl::Status sent) {
                  self->OnBodySent(to, push, std::move(sent));
                });
  }
  bool more = false;
  {
    MutexLock lock(&monitor_.mu);
    if (status.ok()) {
      ++peer.next_note;
      peer.queue.pop_front();
      if (push->floats == 0) FreeLocked(to, *push);
    } else {
      // What waits behind it would fare no better, and the group may be closing.
      for (const auto& queued : std::exchange(peer.queue, {})) FailLocked(to, *queued, status);
    }
    more = !peer.queue.empty();
    if (!more) peer.announcing = false;
  }
  if (more) Announce(to);
}

void Mailbox::OnBodySent(Rank to, const std::shared_ptr<Outbound>& push, absl::Status status) {
  MutexLock lock(&monitor_.mu);
  if (status.ok()) {
    FreeLocked(to, *push);
  } else {
    FailLocked(to, *push, std::move(status));
  }
}

void Mailbox::FailLocked(Rank to, Outbound& push, absl::Status status) {
  failures_.push_back({to, push.note, push.floats, std::move(status), TakeBodyLocked(to, push)});
  FreeLocked(to, push);
}

void Mailbox::FreeLocked(Rank to, Outbound& push) {
  std::unique_ptr<Buffer> buffer = TakeBodyLocked(to, push);
  if (buffer != nullptr) free_outgoing_.push_back(std::move(buffer));
  news_ = true;
  monitor_.changed.NotifyAll();
}

std::unique_ptr<Buffer> Mailbox::TakeBodyLocked(Rank to, Outbound& push) {
  if (push.buffer == nullptr) return nullptr;
  --peers_[to].bodies;
  --sending_;
  return std::move(push.buffer);
}

std::vector<Mailbox::Failure> Mailbox::TakeFailures() {
  MutexLock lock(&monitor_.mu);
  return std::exchange(failures_, {});
}

int Mailbox::UnderWay(Rank to) {
  MutexLock lock(&monitor_.mu);
  const Peer& peer = peers_[to];
  int alone = 0;
  for (const auto& push : peer.queue) alone += push->buffer == nullptr ? 1 : 0;
  return alone + peer.bodies;
}

int Mailbox::UnderWay() {
  int all = 0;
  for (Rank r = 0; r < static_cast<Rank>(peers_.size()); ++r) all += UnderWay(r);
  return all;
}

bool Mailbox::Reachable(Rank peer) {
  MutexLock lock(&monitor_.mu);
  return !peers_[peer].lost;
}

absl::Status Mailbox::Await(absl::Time deadline) {
  MutexLock lock(&monitor_.mu);
  const auto ready = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return news_ || !failures_.empty() || !aborted_.ok();
  };
  const bool came = clock_.Await(monitor_, ready, deadline);
  if (!aborted_.ok()) return aborted_;
  return came ? absl::OkStatus() : absl::DeadlineExceededError("nothing had arrived");
}

void Mailbox::Abort(absl::Status why) {
  MutexLock lock(&monitor_.mu);
  if (!aborted_.ok() || why.ok()) return;
  aborted_ = std::move(why);
  monitor_.changed.NotifyAll();
}

absl::Status Mailbox::aborted() {
  MutexLock lock(&monitor_.mu);
  return aborted_;
}

}  // namespace gg
