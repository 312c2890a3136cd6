// SPDX-License-Identifier: Apache-2.0
// The receiving half of the mailbox.
#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/exchange/mailbox.h"

namespace gg {

std::vector<Mailbox::Arrival> Mailbox::Take() {
  {
    MutexLock lock(&monitor_.mu);
    news_ = false;
  }
  for (Rank from = 0; from < static_cast<Rank>(peers_.size()); ++from) {
    if (from == group_.self()) continue;
    LookForLoss(from);
    CancelOvertaken(from);
    Expect(from);
  }
  PostBodies();
  std::vector<Arrival> arrivals;
  MutexLock lock(&monitor_.mu);
  // Bodies of a peer end in any order: another thread may still be handing an earlier one over.
  std::vector<bool> open(peers_.size(), false);
  for (const std::shared_ptr<Inbound>& in : inbound_) {
    if (in->posted && !in->done) open[in->from] = true;
    if (!in->done || in->taken || (in->posted && open[in->from])) continue;
    in->taken = true;
    Arrival& arrival = arrivals.emplace_back();
    arrival.from = in->from;
    arrival.note = in->note;
    arrival.status = in->status;
    arrival.handle = in.get();
    if (in->status.ok() && in->buffer != nullptr) {
      arrival.body = in->buffer->floats().subspan(0, in->floats);
    }
  }
  return arrivals;
}

void Mailbox::Release(const Arrival& arrival) {
  {
    MutexLock lock(&monitor_.mu);
    const auto it = std::find_if(inbound_.begin(), inbound_.end(),
                                 [&](const auto& in) { return in.get() == arrival.handle; });
    if (it == inbound_.end()) return;
    if ((*it)->buffer != nullptr) {
      free_incoming_.push_back(std::move((*it)->buffer));
      --receiving_;
    }
    inbound_.erase(it);
  }
  PostBodies();
}

void Mailbox::LookForLoss(Rank from) {
  Peer& peer = peers_[from];
  MutexLock lock(&monitor_.mu);
  bool broken = false, pending = false;
  for (NoteSlot& slot : peer.slots) {
    pending |= slot.state == State::kPosted;
    if (slot.state != State::kEnded) continue;
    slot.state = State::kFree;
    broken |= absl::IsUnavailable(slot.status);
  }
  peer.lost = broken || (peer.lost && !pending);
  peer.rewind |= broken;
}

void Mailbox::OnNote(Rank from, int index, absl::Status status) {
  const bool came = status.ok();
  {
    MutexLock lock(&monitor_.mu);
    Peer& peer = peers_[from];
    NoteSlot& slot = peer.slots[index];
    const bool news = came || (absl::IsUnavailable(status) && !peer.lost);
    if (came) {
      peer.latest = std::max(peer.latest, slot.number + 1);
      peer.lost = false;
      ReadNoteLocked(from, slot);
      slot.state = State::kFree;
    } else {
      slot.status = std::move(status);
      slot.state = State::kEnded;
    }
    if (news) {
      news_ = true;
      monitor_.changed.NotifyAll();
    }
  }
  // At once, so that the body is here when the receiver looks.
  if (came) PostBodies();
}

void Mailbox::ReadNoteLocked(Rank from, const NoteSlot& slot) {
  auto in = std::make_shared<Inbound>();
  in->from = from;
  in->note = {.kind = slot.words[0],
              .step = slot.words[1],
              .number = slot.words[2],
              .weight = std::bit_cast<double>(slot.words[3])};
  in->number = slot.number;
  in->body_number = slot.words[5];
  if (slot.words[4] > max_floats_) {
    in->done = true;
    in->status = absl::InvalidArgumentError(
        absl::StrCat("a push of ", slot.words[4], " floats, at most ", max_floats_,
                     " make sense: both ends must agree on the sizes"));
  } else {
    in->floats = slot.words[4];
    in->done = in->floats == 0;
  }
  inbound_.push_back(std::move(in));
}

void Mailbox::CancelOvertaken(Rank from) {
  std::vector<Tag> over;
  {
    MutexLock lock(&monitor_.mu);
    const uint64_t latest = peers_[from].latest;
    for (const NoteSlot& slot : peers_[from].slots) {
      if (slot.state == State::kPosted && slot.number + kHeldPerPeer < latest) {
        over.push_back(NoteTag(slot.number));
      }
    }
    for (const auto& in : inbound_) {
      const bool open = in->from == from && in->posted && !in->done;
      if (open && in->number + kHeldPerPeer < latest) over.push_back(BodyTag(in->body_number));
    }
  }
  for (const Tag& tag : over) group_.CancelRecv(from, tag);
}

bool Mailbox::Rewound(Rank from) {
  Peer& peer = peers_[from];
  std::vector<Tag> pending;
  {
    MutexLock lock(&monitor_.mu);
    if (!peer.rewind) return true;
    for (const NoteSlot& slot : peer.slots) {
      if (slot.state == State::kPosted) pending.push_back(NoteTag(slot.number));
      // Ended since they were looked at; the next Take sees why.
      if (slot.state == State::kEnded) return false;
    }
    if (pending.empty()) {
      peer.rewind = false;
      peer.next_expected = peer.latest > 0 ? peer.latest - 1 : 0;
      return true;
    }
  }
  for (const Tag& tag : pending) group_.CancelRecv(from, tag);
  return false;
}

void Mailbox::Expect(Rank from) {
  if (!Rewound(from)) return;
  Peer& peer = peers_[from];
  for (int i = 0; i < kWindow; ++i) {
    NoteSlot& slot = peer.slots[i];
    {
      MutexLock lock(&monitor_.mu);
      // While the peer is lost, one shows whether it is back.
      if (slot.state != State::kFree) continue;
      if (peer.lost && i > 0) continue;
      slot.number = peer.next_expected++;
      slot.state = State::kPosted;
    }
    const Bytes bytes(reinterpret_cast<uint8_t*>(slot.words.data()), sizeof(Words));
    group_.Recv(from, NoteTag(slot.number), bytes,
                [self = shared_from_this(), from, i](absl::Status status) {
                  self->OnNote(from, i, std::move(status));
                });
  }
}

bool Mailbox::AllocateSpare() {
  {
    MutexLock lock(&monitor_.mu);
    if (!free_incoming_.empty()) return true;
    if (max_floats_ == 0 || receiving_ >= pool_) return false;
  }
  auto allocated = device_.Allocate(max_floats_ * sizeof(float));
  if (!allocated.ok()) return false;
  MutexLock lock(&monitor_.mu);
  free_incoming_.push_back(*std::move(allocated));
  return true;
}

void Mailbox::PostBodies() {
  for (;;) {
    std::shared_ptr<Inbound> next;
    Flat into;
    {
      MutexLock lock(&monitor_.mu);
      if (receiving_ >= pool_) return;
      std::vector<int> held(peers_.size(), 0);
      for (const auto& in : inbound_) {
        if (in->buffer != nullptr) {
          ++held[in->from];
        } else if (next == nullptr && !in->done && held[in->from] < kHeldPerPeer) {
          next = in;
        }
      }
      if (next == nullptr) return;
      if (!free_incoming_.empty()) {
        next->buffer = std::move(free_incoming_.back());
        free_incoming_.pop_back();
        next->posted = true;
        // What came before it was asked for does not count as having overtaken it.
        next->number = std::max(next->number, peers_[next->from].latest - 1);
        ++receiving_;
        into = BodyOf(*next->buffer, next->floats);
      }
    }
    if (into.empty()) {
      if (!AllocateSpare()) return;
      continue;
    }
    link_->Recv(next->from, BodyTag(next->body_number), into,
                [self = shared_from_this(), next](absl::Status status) {
                  MutexLock lock(&self->monitor_.mu);
                  next->done = true;
                  next->status = std::move(status);
                  self->news_ = true;
                  self->monitor_.changed.NotifyAll();
                });
  }
}

}  // namespace gg
