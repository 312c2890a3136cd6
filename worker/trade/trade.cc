// SPDX-License-Identifier: Apache-2.0
#include "worker/trade/trade.h"

#include <algorithm>
#include <utility>

namespace gg {
namespace {

constexpr size_t kLabelBytes = 4;

void PutLabel(uint8_t* to, int32_t label) {
  const auto value = static_cast<uint32_t>(label);
  for (size_t i = 0; i < kLabelBytes; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

int32_t GetLabel(const uint8_t* from) {
  uint32_t value = 0;
  for (size_t i = 0; i < kLabelBytes; ++i) value |= uint32_t{from[i]} << (8 * i);
  return static_cast<int32_t>(value);
}

}  // namespace

Trade::Trade(std::shared_ptr<Monitor> monitor, int64_t samples, const SampleShape& shape)
    : monitor_(std::move(monitor)), sample_bytes_(shape.bytes()) {
  const size_t bytes = static_cast<size_t>(samples) * (kLabelBytes + sample_bytes_);
  outgoing_.resize(bytes);
  incoming_.resize(bytes);
}

void Trade::Start(uint64_t number, std::vector<int64_t> slots, const ShardStore& store,
                  PeerGroup& group, Rank send_to, Rank receive_from, absl::Time due) {
  number_ = number;
  slots_ = std::move(slots);
  due_ = due;
  uint8_t* label = outgoing_.data();
  uint8_t* pixels = label + slots_.size() * kLabelBytes;
  for (const int64_t slot : slots_) {
    PutLabel(label, store.label(slot));
    label += kLabelBytes;
    pixels = std::copy_n(store.pixels(slot).begin(), sample_bytes_, pixels);
  }
  {
    MutexLock lock(&monitor_->mu);
    outcome_ = {};
  }
  const auto report = [self = shared_from_this()](std::optional<absl::Status> Outcome::*which) {
    return [self, which](absl::Status status) {
      MutexLock lock(&self->monitor_->mu);
      self->outcome_.*which = std::move(status);
      self->monitor_->changed.NotifyAll();
    };
  };
  // The place first: what the neighbour has sent already need not wait in the transport.
  group.Recv(receive_from, tag(), absl::MakeSpan(incoming_), report(&Outcome::received));
  group.Send(send_to, tag(), outgoing_, report(&Outcome::sent));
}

void Trade::PutInto(ShardStore& store) const {
  const uint8_t* label = incoming_.data();
  const uint8_t* pixels = label + slots_.size() * kLabelBytes;
  for (const int64_t slot : slots_) {
    store.Replace(slot, absl::MakeConstSpan(pixels, sample_bytes_), GetLabel(label));
    label += kLabelBytes;
    pixels += sample_bytes_;
  }
}

}  // namespace gg
