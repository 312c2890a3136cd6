// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/tag_matcher.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

// What a waiting message costs at least, so that a flood of empty ones is bounded too.
constexpr uint64_t kMinimumCost = 64;

uint64_t Cost(uint64_t bytes) {
  return std::max(bytes, kMinimumCost);
}

void Copy(uint8_t* into, const uint8_t* from, uint64_t bytes) {
  if (bytes > 0) std::memcpy(into, from, bytes);
}

const char* ChannelName(Channel channel) {
  switch (channel) {
    case Channel::kExchange:
      return "exchange";
    case Channel::kCollective:
      return "collective";
    case Channel::kTrade:
      return "trade";
  }
  return "unknown channel";
}

}  // namespace

std::string DescribeTag(const Tag& tag) {
  return absl::StrCat(ChannelName(tag.channel), " step ", tag.step, " block ", tag.block);
}

TagMatcher::TagMatcher(std::string peer, size_t unexpected_bytes, TrafficCounters* counters)
    : peer_(std::move(peer)), unexpected_bytes_(unexpected_bytes), counters_(counters) {}

bool TagMatcher::IsExpired(const Tag& tag) const {
  const auto it = first_live_step_.find(tag.channel);
  return it != first_live_step_.end() && tag.step < it->second;
}

void TagMatcher::Release(const Stored& stored) {
  unexpected_used_ -= Cost(stored.bytes);
}

void TagMatcher::FinishOk(Posted posted) {
  counters_->Received(posted.into.size());
  posted.done(absl::OkStatus());
}

absl::Status TagMatcher::SizeMismatch(const Tag& tag, uint64_t message, uint64_t recv) const {
  return absl::InvalidArgumentError(absl::StrCat("message ", DescribeTag(tag), " from ", peer_,
                                                 " has ", message, " bytes, its Recv expects ",
                                                 recv, ": both ends must agree on the sizes"));
}

void TagMatcher::Post(Tag tag, Bytes into, Done done) {
  if (!ended_.ok()) return done(ended_);
  if (IsExpired(tag)) {
    return done(absl::CancelledError(
        absl::StrCat("Recv of ", DescribeTag(tag), " from ", peer_, ": that step is over")));
  }
  const bool arriving_this = arriving_ && arriving_->tag == tag;
  if (posted_.contains(tag) || (arriving_this && arriving_->posted)) {
    return done(absl::AlreadyExistsError(absl::StrCat("Recv of ", DescribeTag(tag), " from ", peer_,
                                                      ": one with this tag is pending already")));
  }
  cancelled_.erase(tag);
  if (auto it = waiting_.find(tag); it != waiting_.end()) {
    const Stored stored = std::move(it->second);
    waiting_.erase(it);
    Release(stored);
    if (stored.bytes != into.size()) return done(SizeMismatch(tag, stored.bytes, into.size()));
    Copy(into.data(), stored.data.get(), stored.bytes);
    return FinishOk({into, std::move(done)});
  }
  if (arriving_this && arriving_->stored) {
    const Stored stored = *std::exchange(arriving_->stored, std::nullopt);
    Release(stored);
    if (stored.bytes != into.size()) return done(SizeMismatch(tag, stored.bytes, into.size()));
    // The rest goes straight to where it belongs.
    Copy(into.data(), stored.data.get(), arriving_->received);
    arriving_->posted = Posted{into, std::move(done)};
    return;
  }
  if (!lost_.ok()) return done(lost_);
  posted_.emplace(tag, Posted{into, std::move(done)});
}

void TagMatcher::Cancel(Tag tag) {
  std::optional<Posted> posted;
  if (arriving_ && arriving_->tag == tag && arriving_->posted) {
    posted = std::exchange(arriving_->posted, std::nullopt);
    counters_->DroppedStale();
  } else if (auto it = posted_.find(tag); it != posted_.end()) {
    posted = std::move(it->second);
    posted_.erase(it);
    cancelled_.insert(tag);
  }
  if (!posted) return;
  posted->done(absl::CancelledError(
      absl::StrCat("Recv of ", DescribeTag(tag), " from ", peer_, " was given up")));
}

void TagMatcher::Expire(Channel channel, uint64_t step) {
  uint64_t& first = first_live_step_[channel];
  if (step <= first) return;
  first = step;
  const Tag begin{channel, 0, 0}, end{channel, step, 0};
  std::vector<std::pair<Tag, Posted>> over;
  for (auto it = posted_.lower_bound(begin); it != posted_.end() && it->first < end;) {
    over.emplace_back(it->first, std::move(it->second));
    it = posted_.erase(it);
  }
  for (auto it = waiting_.lower_bound(begin); it != waiting_.end() && it->first < end;) {
    Release(it->second);
    counters_->DroppedStale();
    it = waiting_.erase(it);
  }
  cancelled_.erase(cancelled_.lower_bound(begin), cancelled_.lower_bound(end));
  if (arriving_ && IsExpired(arriving_->tag) && (arriving_->posted || arriving_->stored)) {
    counters_->DroppedStale();
    if (arriving_->stored) Release(*std::exchange(arriving_->stored, std::nullopt));
    if (arriving_->posted) {
      over.emplace_back(arriving_->tag, *std::exchange(arriving_->posted, std::nullopt));
    }
  }
  for (auto& [tag, posted] : over) {
    posted.done(absl::CancelledError(
        absl::StrCat("Recv of ", DescribeTag(tag), " from ", peer_, ": that step is over")));
  }
}

void TagMatcher::SetLost(absl::Status why) {
  lost_ = std::move(why);
  if (arriving_) Abort(lost_);
  for (auto& [tag, posted] : std::exchange(posted_, {})) {
    posted.done(Annotate(lost_, absl::StrCat("Recv of ", DescribeTag(tag))));
  }
}

void TagMatcher::End(const absl::Status& why) {
  ended_ = why;
  if (arriving_) Abort(why);
  waiting_.clear();
  unexpected_used_ = 0;
  for (auto& [tag, posted] : std::exchange(posted_, {})) posted.done(why);
}

bool TagMatcher::Begin(Tag tag, uint64_t bytes) {
  Arriving next{.tag = tag, .bytes = bytes, .received = 0, .posted = {}, .stored = {}};
  if (!ended_.ok() || IsExpired(tag) || cancelled_.erase(tag) > 0 || waiting_.contains(tag)) {
    counters_->DroppedStale();  // a second message of a tag that waits counts here as well
  } else if (auto it = posted_.find(tag); it != posted_.end()) {
    Posted posted = std::move(it->second);
    posted_.erase(it);
    if (posted.into.size() == bytes) {
      next.posted = std::move(posted);
    } else {
      posted.done(SizeMismatch(tag, bytes, posted.into.size()));
    }
  } else if (bytes <= unexpected_bytes_ && unexpected_used_ + Cost(bytes) <= unexpected_bytes_) {
    unexpected_used_ += Cost(bytes);
    next.stored = Stored{std::unique_ptr<uint8_t[]>(new uint8_t[bytes]), bytes};
  } else {
    return false;
  }
  arriving_ = std::move(next);
  return true;
}

uint8_t* TagMatcher::Destination() {
  if (arriving_->posted) return arriving_->posted->into.data() + arriving_->received;
  if (arriving_->stored) return arriving_->stored->data.get() + arriving_->received;
  return nullptr;
}

void TagMatcher::Advance(uint64_t bytes) {
  arriving_->received += bytes;
}

void TagMatcher::Commit() {
  Arriving arrived = *std::exchange(arriving_, std::nullopt);
  if (arrived.posted) {
    FinishOk(*std::move(arrived.posted));
  } else if (arrived.stored) {
    waiting_.emplace(arrived.tag, *std::move(arrived.stored));
  }
}

void TagMatcher::Abort(const absl::Status& why) {
  Arriving torn = *std::exchange(arriving_, std::nullopt);
  if (torn.stored) Release(*torn.stored);
  if (torn.posted) {
    torn.posted->done(Annotate(why, absl::StrCat("Recv of ", DescribeTag(torn.tag))));
  }
}

}  // namespace gg
