// SPDX-License-Identifier: Apache-2.0
#include "worker/trade/note_line.h"

#include <utility>

namespace gg {
namespace {

constexpr size_t kNoteBytes = sizeof(NoteLine::Note);

}  // namespace

NoteLine::NoteLine(PeerGroup& group, Rank peer, uint32_t send_block, uint32_t receive_block,
                   std::function<void(const Note&)> heard, std::function<void(absl::Status)> lost)
    : group_(group),
      peer_(peer),
      send_block_(send_block),
      receive_block_(receive_block),
      heard_(std::move(heard)),
      lost_(std::move(lost)) {}

void NoteLine::Listen() {
  {
    MutexLock lock(&mu_);
    next_posted_ = kWindow;
  }
  for (uint64_t number = 0; number < kWindow; ++number) Post(number);
}

void NoteLine::Send(const Note& note) {
  uint64_t number = 0;
  {
    MutexLock lock(&mu_);
    if (over_) return;
    number = next_sent_++;
  }
  auto words = std::make_shared<Note>(note);
  const ConstBytes bytes(reinterpret_cast<const uint8_t*>(words->data()), kNoteBytes);
  // A note that fails is as one that is lost on its way.
  group_.Send(peer_, {Channel::kTrade, number, send_block_}, bytes,
              [words = std::move(words)](const absl::Status&) {});
}

void NoteLine::Post(uint64_t number) {
  auto words = std::make_shared<Note>();
  const Bytes bytes(reinterpret_cast<uint8_t*>(words->data()), kNoteBytes);
  group_.Recv(peer_, {Channel::kTrade, number, receive_block_}, bytes,
              [self = shared_from_this(), number, words = std::move(words)](absl::Status status) {
                self->OnNote(number, *words, status);
              });
}

void NoteLine::OnNote(uint64_t number, const Note& note, const absl::Status& status) {
  uint64_t first_overtaken = 0, first_new = 0, end_new = 0;
  bool gone = false;
  {
    MutexLock lock(&mu_);
    if (over_) return;
    if (absl::IsUnavailable(status)) {
      over_ = gone = true;
    } else if (status.ok() && number >= next_heard_) {
      // Messages keep their order: what an arrival has overtaken will not come.
      first_overtaken = next_heard_;
      next_heard_ = number + 1;
      first_new = next_posted_;
      end_new = next_posted_ = next_heard_ + kWindow;
    } else {
      return;  // damaged, given up, or overtaken
    }
  }
  if (gone) return lost_(status);
  for (uint64_t n = first_overtaken; n < number; ++n) {
    group_.CancelRecv(peer_, {Channel::kTrade, n, receive_block_});
  }
  for (uint64_t n = first_new; n < end_new; ++n) Post(n);
  heard_(note);
}

void NoteLine::Close() {
  uint64_t first = 0, end = 0;
  {
    MutexLock lock(&mu_);
    first = next_heard_;
    end = next_posted_;
    over_ = true;
    next_posted_ = next_heard_;
  }
  for (uint64_t n = first; n < end; ++n) {
    group_.CancelRecv(peer_, {Channel::kTrade, n, receive_block_});
  }
}

}  // namespace gg
