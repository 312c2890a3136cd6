// SPDX-License-Identifier: Apache-2.0
//
// Short numbered notes to and from one neighbour, over links that may lose, damage or repeat a
// message: what is heard is whole, in order and each once, but notes may be missing, so that one
// must stand for all before it. The receiver listens for the next kWindow numbers: a line falls
// silent for good only when as many notes in a row are lost.
//
// Thread-safety: thread-safe. Owned by shared pointers: callbacks of the transport hold one, and
// none of them calls the group after Close().
#ifndef GOSSIPGRAD_WORKER_TRADE_NOTE_LINE_H_
#define GOSSIPGRAD_WORKER_TRADE_NOTE_LINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/sync.h"
#include "worker/transport/transport.h"

namespace gg {

class NoteLine : public std::enable_shared_from_this<NoteLine> {
 public:
  static constexpr int kWindow = 32;
  using Note = std::array<uint64_t, 3>;

  // Sends on channel kTrade with block `send_block` and listens for `receive_block`, each with the
  // note's number as step. `heard` runs on the transport's thread, without a lock; `lost` likewise,
  // once, when the neighbour is gone.
  NoteLine(PeerGroup& group, Rank peer, uint32_t send_block, uint32_t receive_block,
           std::function<void(const Note&)> heard, std::function<void(absl::Status)> lost);

  void Listen();
  void Send(const Note& note);
  // Nothing is heard afterwards.
  void Close();

 private:
  void Post(uint64_t number);
  void OnNote(uint64_t number, const Note& note, const absl::Status& status);

  PeerGroup& group_;
  const Rank peer_;
  const uint32_t send_block_, receive_block_;
  const std::function<void(const Note&)> heard_;
  const std::function<void(absl::Status)> lost_;

  Mutex mu_;
  uint64_t next_sent_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_posted_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_heard_ ABSL_GUARDED_BY(mu_) = 0;  // notes below it were heard, or are not to be
  bool over_ ABSL_GUARDED_BY(mu_) = false;        // closed, or the neighbour is gone
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRADE_NOTE_LINE_H_
