// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/inflight.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

// How long a cancelled receive may take to come back; one that takes longer costs its unit the next
// exchange.
constexpr absl::Duration kCancelGrace = absl::Milliseconds(100);

Tag TagOf(int unit, uint64_t step) {
  return {Channel::kExchange, step, static_cast<uint32_t>(unit)};
}

}  // namespace

absl::StatusOr<std::shared_ptr<Inflight>> Inflight::Create(Device& device, PeerGroup& group,
                                                           Clock& clock,
                                                           const std::vector<size_t>& floats,
                                                           WireFormat format) {
  std::shared_ptr<Inflight> inflight(new Inflight(device, FloatLink::Create(group, format), clock));
  for (const size_t count : floats) {
    Unit unit;
    unit.floats = count;
    unit.send.resize(2);
    for (std::unique_ptr<Buffer>* buffer :
         {&unit.recv.buffer, &unit.send[0].buffer, &unit.send[1].buffer}) {
      GG_ASSIGN_OR_RETURN(*buffer, inflight->Allocate(count));
    }
    inflight->units_.push_back(std::move(unit));
  }
  return inflight;
}

absl::StatusOr<std::unique_ptr<Buffer>> Inflight::Allocate(size_t floats) {
  auto allocated = device_.Allocate(floats * sizeof(float));
  if (!allocated.ok()) return Annotate(allocated.status(), "buffers of the exchange");
  return allocated;
}

bool Inflight::PostRecv(int unit, uint64_t step, Rank from) {
  RecvSlot& slot = units_[unit].recv;
  bool other_step = false;
  {
    MutexLock lock(&monitor_.mu);
    const bool in_use = slot.state == RecvState::kPosted || slot.state == RecvState::kDone;
    if (in_use && slot.step == step) return true;
    if (slot.state == RecvState::kDone) slot.state = RecvState::kIdle;
    other_step = slot.state == RecvState::kPosted;
  }
  if (other_step) GiveUp(unit);
  {
    MutexLock lock(&monitor_.mu);
    if (slot.state != RecvState::kIdle) return false;
    slot.state = RecvState::kPosted;
    slot.step = step;
    slot.from = from;
  }
  link_->Recv(from, TagOf(unit, step), Received(unit),
              [self = shared_from_this(), unit](absl::Status status) {
                self->OnReceived(unit, std::move(status));
              });
  return true;
}

void Inflight::GiveUp(int unit) {
  RecvSlot& slot = units_[unit].recv;
  {
    MutexLock lock(&monitor_.mu);
    if (slot.state == RecvState::kDone) slot.state = RecvState::kIdle;
    if (slot.state != RecvState::kPosted) return;
    slot.state = RecvState::kAbandoned;
  }
  link_->CancelRecv(slot.from, TagOf(unit, slot.step));
  // Its Done comes at once, and only then can the buffer expect the next message.
  MutexLock lock(&monitor_.mu);
  const auto free = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
    return slot.state == RecvState::kIdle || !aborted_.ok();
  };
  clock_.Await(monitor_, free, clock_.Now() + kCancelGrace);
}

void Inflight::OnReceived(int unit, absl::Status status) {
  MutexLock lock(&monitor_.mu);
  RecvSlot& slot = units_[unit].recv;
  // Whatever came for a receive that was given up is not looked at.
  slot.state = slot.state == RecvState::kAbandoned ? RecvState::kIdle : RecvState::kDone;
  slot.result = std::move(status);
  monitor_.changed.NotifyAll();
}

absl::Status Inflight::Await(int unit, uint64_t step, absl::Time deadline) {
  RecvSlot& slot = units_[unit].recv;
  {
    MutexLock lock(&monitor_.mu);
    const bool in_use = slot.state == RecvState::kPosted || slot.state == RecvState::kDone;
    if (!in_use || slot.step != step) {
      return absl::DeadlineExceededError("an earlier receive still holds the buffer");
    }
    const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
      return slot.state == RecvState::kDone || !aborted_.ok();
    };
    clock_.Await(monitor_, over, deadline);
    if (!aborted_.ok()) return aborted_;
    if (slot.state == RecvState::kDone) {
      slot.state = RecvState::kIdle;
      return std::move(slot.result);
    }
  }
  GiveUp(unit);
  return absl::DeadlineExceededError("nothing had arrived");
}

Flat Inflight::Received(int unit) {
  return units_[unit].recv.buffer->floats().subspan(0, units_[unit].floats);
}

Inflight::SendSlot& Inflight::SlotOf(int unit, uint64_t step) {
  Unit& u = units_[unit];
  // The latest or the one before it; an older buffer may still have the number of a step that was
  // given twice, after a restart.
  if (u.send[u.latest].step == step) return u.send[u.latest];
  for (SendSlot& slot : u.send) {
    if (slot.step == step) return slot;
  }
  return u.send[u.latest];
}

Flat Inflight::Sent(int unit, uint64_t step) {
  return SlotOf(unit, step).buffer->floats().subspan(0, units_[unit].floats);
}

int Inflight::HeldLocked(Rank peer, int unit) const {
  int held = 0;
  for (const SendSlot& slot : units_[unit].send) held += slot.holder == peer ? 1 : 0;
  return held;
}

int Inflight::HeldBy(Rank peer, int unit) {
  MutexLock lock(&monitor_.mu);
  return HeldLocked(peer, unit);
}

absl::StatusOr<Flat> Inflight::Outgoing(int unit, uint64_t step, Rank to, absl::Time deadline) {
  Unit& u = units_[unit];
  {
    MutexLock lock(&monitor_.mu);
    const auto ready = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return to < 0 || HeldLocked(to, unit) < kHeldPerPeer || !aborted_.ok();
    };
    clock_.Await(monitor_, ready, deadline);
    if (!ready() || !aborted_.ok()) return Flat();
    size_t slot = 0;
    while (slot < u.send.size() && (u.send[slot].holder >= 0 || slot == u.latest)) ++slot;
    if (slot < u.send.size()) {
      u.latest = slot;
      u.send[slot].step = step;
      return Sent(unit, step);
    }
  }
  SendSlot added;
  GG_ASSIGN_OR_RETURN(added.buffer, Allocate(u.floats));
  added.step = step;
  MutexLock lock(&monitor_.mu);
  u.latest = u.send.size();
  u.send.push_back(std::move(added));
  return Sent(unit, step);
}

void Inflight::Send(int unit, uint64_t step, Rank to) {
  const size_t slot = units_[unit].latest;
  {
    MutexLock lock(&monitor_.mu);
    units_[unit].send[slot].holder = to;
  }
  link_->SendRounded(to, TagOf(unit, step), Sent(unit, step), FloatLink::Draw::kOwn,
                     [self = shared_from_this(), unit, slot](absl::Status status) {
                       self->OnSent(unit, slot, std::move(status));
                     });
}

void Inflight::OnSent(int unit, size_t slot, absl::Status status) {
  MutexLock lock(&monitor_.mu);
  SendSlot& sent = units_[unit].send[slot];
  if (!status.ok()) failures_.push_back({sent.holder, sent.step, std::move(status)});
  sent.holder = -1;
  monitor_.changed.NotifyAll();
}

std::vector<Inflight::SendFailure> Inflight::TakeSendFailures() {
  MutexLock lock(&monitor_.mu);
  return std::exchange(failures_, {});
}

void Inflight::Abort(absl::Status why) {
  MutexLock lock(&monitor_.mu);
  if (!aborted_.ok() || why.ok()) return;
  aborted_ = std::move(why);
  monitor_.changed.NotifyAll();
}

absl::Status Inflight::aborted() {
  MutexLock lock(&monitor_.mu);
  return aborted_;
}

}  // namespace gg
