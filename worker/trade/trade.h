// SPDX-License-Identifier: Apache-2.0
//
// One trade on its way: the samples that left, room for those that replace them, and what the
// transport has said of both. Shared by the ring and the transport's callbacks, so that lent memory
// lives until the last Done whatever becomes of the ring. Reused for later trades once both
// directions are over. A message is, for n samples: n labels as little-endian 32-bit numbers, then
// n times the pixels. Thread-safety: the transport writes through the callbacks of Start();
// everything else belongs to the training thread.
#ifndef GOSSIPGRAD_WORKER_TRADE_TRADE_H_
#define GOSSIPGRAD_WORKER_TRADE_TRADE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/clock.h"
#include "worker/data/batch_source.h"
#include "worker/transport/transport.h"

namespace gg {

class Trade : public std::enable_shared_from_this<Trade> {
 public:
  struct Outcome {
    std::optional<absl::Status> sent, received;
  };

  // `monitor` tells of every Done; its mutex guards the outcome.
  Trade(std::shared_ptr<Monitor> monitor, int64_t samples, const SampleShape& shape);

  // Copies `slots` out of the store and starts both directions. Only when over().
  void Start(uint64_t number, std::vector<int64_t> slots, const ShardStore& store, PeerGroup& group,
             Rank send_to, Rank receive_from, absl::Time due);
  // Puts what was received into the slots. Only when received is OK.
  void PutInto(ShardStore& store) const;

  uint64_t number() const { return number_; }
  absl::Span<const int64_t> slots() const { return slots_; }
  absl::Time due() const { return due_; }
  size_t message_bytes() const { return outgoing_.size(); }
  Tag tag() const { return {Channel::kTrade, number_, 0}; }

  // With the monitor's mutex held.
  const Outcome& outcome() const { return outcome_; }
  bool over() const { return outcome_.sent.has_value() && outcome_.received.has_value(); }

 private:
  const std::shared_ptr<Monitor> monitor_;
  const size_t sample_bytes_;
  uint64_t number_ = 0;
  std::vector<int64_t> slots_;
  std::vector<uint8_t> outgoing_, incoming_;
  absl::Time due_;
  Outcome outcome_;  // guarded by monitor_->mu
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRADE_TRADE_H_
