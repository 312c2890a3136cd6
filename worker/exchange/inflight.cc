// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/inflight.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
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
Tag AdmissionTag(uint64_t round) {
  return {Channel::kExchange, round, Inflight::kAdmission};
}

}  // namespace

absl::StatusOr<std::shared_ptr<Inflight>> Inflight::Create(Device& device, PeerGroup& group,
                                                           Clock& clock,
                                                           const std::vector<size_t>& floats,
                                                           WireFormat format) {
  std::shared_ptr<Inflight> inflight(
      new Inflight(device, FloatLink::Create(group, format), clock, group.view().members.size()));
  const size_t size = group.view().members.size();
  size_t bytes = 0;
  for (const size_t count : floats) bytes += inflight->link_->WireBytes(count);
  if (bytes >= kPacedFrom) inflight->apart_ = std::bit_width(size - 1) + 1;
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

void Inflight::Meet(uint64_t round, Rank from, Rank to) {
  if (apart_ == 0) return;
  if (to >= 0) {
    link_->group().Recv(to, AdmissionTag(round), Bytes(),
                        [self = shared_from_this(), to, round](const absl::Status& status) {
                          // Where the word is lost or damaged the message must not be too. A round that
                          // is over, or the end of the group, is for the training thread.
                          if (!absl::IsCancelled(status)) self->OnAdmitted(to, round);
                        });
  }
  if (from < 0) return;
  {
    MutexLock lock(&monitor_.mu);
    admissions_.push_back({round, from});
  }
  Admit();
}

void Inflight::Admit() {
  std::vector<Admission> due;
  {
    MutexLock lock(&monitor_.mu);
    uint64_t oldest = ~uint64_t{0};  // round that something is still to come of
    for (const Unit& unit : units_) {
      if (unit.recv.state == RecvState::kPosted) oldest = std::min(oldest, unit.recv.step);
    }
    const auto is_due = [&](const Admission& a) { return a.round <= oldest; };
    std::copy_if(admissions_.begin(), admissions_.end(), std::back_inserter(due), is_due);
    std::erase_if(admissions_, is_due);
  }
  for (const Admission& admission : due) {
    // Lost with its connection, of which the sender hears too.
    link_->group().Send(admission.from, AdmissionTag(admission.round), ConstBytes(),
                        [](const absl::Status&) {});
  }
}

void Inflight::OnAdmitted(Rank to, uint64_t round) {
  std::vector<Held> free;
  {
    MutexLock lock(&monitor_.mu);
    open_until_[to] = std::max(open_until_[to], round + 1);
    free = TakeHeldLocked([&](const Held& h) { return h.to == to && h.round <= round; });
    if (held_.empty()) monitor_.changed.NotifyAll();
  }
  SendNow(std::move(free));
}

void Inflight::ReleaseHeld(uint64_t round) {
  std::vector<Held> free;
  {
    MutexLock lock(&monitor_.mu);
    free = TakeHeldLocked([&](const Held& held) { return held.round < round; });
  }
  SendNow(std::move(free));
}

void Inflight::Flush(absl::Time deadline) {
  {
    MutexLock lock(&monitor_.mu);
    const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
      return held_.empty() || !aborted_.ok();
    };
    clock_.Await(monitor_, over, deadline);
  }
  ReleaseHeld(~uint64_t{0});
}

std::vector<Inflight::Held> Inflight::TakeHeldLocked(absl::FunctionRef<bool(const Held&)> which) {
  const auto kept = std::stable_partition(held_.begin(), held_.end(), std::not_fn(which));
  std::vector<Held> taken(kept, held_.end());
  held_.erase(kept, held_.end());
  return taken;
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
  Admit();
  // Its Done comes at once, and only then can the buffer expect the next message.
  MutexLock lock(&monitor_.mu);
  const auto free = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
    return slot.state == RecvState::kIdle || !aborted_.ok();
  };
  clock_.Await(monitor_, free, clock_.Now() + kCancelGrace);
}

void Inflight::OnReceived(int unit, absl::Status status) {
  {
    MutexLock lock(&monitor_.mu);
    RecvSlot& slot = units_[unit].recv;
    // Whatever came for a receive that was given up is not looked at.
    slot.state = slot.state == RecvState::kAbandoned ? RecvState::kIdle : RecvState::kDone;
    slot.result = std::move(status);
    monitor_.changed.NotifyAll();
  }
  Admit();
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
  const Held message{unit, units_[unit].latest, Sent(unit, step), step, to};
  // Now, because the sender goes on with what the partner will decode.
  link_->Round(TagOf(unit, step), message.values, FloatLink::Draw::kOwn);
  {
    MutexLock lock(&monitor_.mu);
    units_[unit].send[message.slot].holder = to;
    if (apart_ > 0 && open_until_[to] <= step) {
      held_.push_back(message);
      return;
    }
  }
  SendNow({message});
}

void Inflight::SendNow(std::vector<Held> messages) {
  for (const Held& message : messages) {
    link_->Send(message.to, TagOf(message.unit, message.round), message.values,
                [self = shared_from_this(), unit = message.unit, slot = message.slot](
                    absl::Status status) { self->OnSent(unit, slot, std::move(status)); });
  }
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
