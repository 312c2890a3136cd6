// SPDX-License-Identifier: Apache-2.0
//
// The numbers behind PeerGroup::stats(): written on the transport's thread, read from any.
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_COUNTERS_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_COUNTERS_H_

#include <atomic>
#include <cstdint>

#include "worker/transport/transport.h"

namespace gg {

class TrafficCounters {
 public:
  void Sent(uint64_t bytes) {
    sent_bytes_ += bytes;
    ++sent_messages_;
  }
  void Received(uint64_t bytes) {
    received_bytes_ += bytes;
    ++received_messages_;
  }
  void DroppedStale() { ++dropped_stale_; }
  void DroppedChecksum() { ++dropped_checksum_; }

  PeerStats Read() const {
    return {.sent_messages = sent_messages_,
            .sent_bytes = sent_bytes_,
            .received_messages = received_messages_,
            .received_bytes = received_bytes_,
            .dropped_stale = dropped_stale_,
            .dropped_checksum = dropped_checksum_};
  }

 private:
  std::atomic<uint64_t> sent_messages_ = 0, sent_bytes_ = 0, received_messages_ = 0,
                        received_bytes_ = 0, dropped_stale_ = 0, dropped_checksum_ = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_COUNTERS_H_
