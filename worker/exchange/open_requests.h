// SPDX-License-Identifier: Apache-2.0
//
// The requests of a method that have no answer yet: at most one open per peer. One that is given up
// may still be answered late, and that answer is taken once, because the other side has counted on
// it; only the last few are remembered.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_OPEN_REQUESTS_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_OPEN_REQUESTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"

namespace gg {

class OpenRequests {
 public:
  struct Request {
    Rank to = -1;
    uint64_t step = 0;
    absl::Time begun;
    bool given_up = false;
  };

  // Its number.
  uint64_t Open(Rank to, uint64_t step, absl::Time now) {
    while (requests_.size() >= kRemembered) requests_.erase(requests_.begin());
    requests_[next_] = {to, step, now, false};
    return next_++;
  }
  bool open(Rank to) const {
    for (const auto& [number, request] : requests_) {
      if (request.to == to && !request.given_up) return true;
    }
    return false;
  }
  bool any() const {
    for (const auto& [number, request] : requests_) {
      if (!request.given_up) return true;
    }
    return false;
  }
  // The request that an answer of `from` answers, once.
  std::optional<Request> Close(uint64_t number, Rank from) {
    const auto it = requests_.find(number);
    if (it == requests_.end() || it->second.to != from) return std::nullopt;
    const Request request = it->second;
    requests_.erase(it);
    return request;
  }
  // Those begun before `limit`; they are given up.
  std::vector<Request> GiveUp(absl::Time limit) {
    std::vector<Request> late;
    for (auto& [number, request] : requests_) {
      if (request.given_up || request.begun > limit) continue;
      request.given_up = true;
      late.push_back(request);
    }
    return late;
  }

 private:
  // At most one is open per peer, the rest are given up; views have at most half as many members
  // (spec.workers.max).
  static constexpr size_t kRemembered = 8192;
  std::map<uint64_t, Request> requests_;
  uint64_t next_ = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_OPEN_REQUESTS_H_
