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

Bytes AsBytes(Flat floats) {
  return Bytes(reinterpret_cast<uint8_t*>(floats.data()), floats.size() * sizeof(float));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Inflight>> Inflight::Create(Device& device, PeerGroup& group,
                                                           Clock& clock,
                                                           const std::vector<size_t>& floats) {
  std::shared_ptr<Inflight> inflight(new Inflight(group, clock));
  for (const size_t count : floats) {
    Unit unit;
    unit.floats = count;
    for (std::unique_ptr<Buffer>* buffer :
         {&unit.recv.buffer, &unit.send[0].buffer, &unit.send[1].buffer}) {
      auto allocated = device.Allocate(count * sizeof(float));
      if (!allocated.ok()) return Annotate(allocated.status(), "buffers of the exchange");
      *buffer = std::move(allocated).value();
    }
    inflight->units_.push_back(std::move(unit));
  }
  return inflight;
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
  group_.Recv(from, TagOf(unit, step), AsBytes(Received(unit)),
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
  group_.CancelRecv(slot.from, TagOf(unit, slot.step));
  // Its Done comes at once, and only then can the buffer expect the next message.
  MutexLock lock(&monitor_.mu);
  const auto free = [&] { return slot.state == RecvState::kIdle || !aborted_.ok(); };
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
    const auto over = [&] { return slot.state == RecvState::kDone || !aborted_.ok(); };
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

Flat Inflight::Sent(int unit, uint64_t step) {
  return units_[unit].send[step % 2].buffer->floats().subspan(0, units_[unit].floats);
}

Flat Inflight::Outgoing(int unit, uint64_t step, absl::Time deadline) {
  MutexLock lock(&monitor_.mu);
  const SendSlot& slot = units_[unit].send[step % 2];
  clock_.Await(
      monitor_, [&] { return slot.holder < 0 || !aborted_.ok(); }, deadline);
  if (slot.holder >= 0 || !aborted_.ok()) return Flat();
  return Sent(unit, step);
}

Rank Inflight::Holder(int unit, uint64_t step) {
  MutexLock lock(&monitor_.mu);
  return units_[unit].send[step % 2].holder;
}

void Inflight::Send(int unit, uint64_t step, Rank to) {
  {
    MutexLock lock(&monitor_.mu);
    units_[unit].send[step % 2].holder = to;
  }
  group_.Send(to, TagOf(unit, step), AsBytes(Sent(unit, step)),
              [self = shared_from_this(), unit, step, to](absl::Status status) {
                self->OnSent(unit, step, to, std::move(status));
              });
}

void Inflight::OnSent(int unit, uint64_t step, Rank to, absl::Status status) {
  MutexLock lock(&monitor_.mu);
  units_[unit].send[step % 2].holder = -1;
  if (!status.ok()) failures_.push_back({to, step, std::move(status)});
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
