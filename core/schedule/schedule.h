// SPDX-License-Identifier: Apache-2.0
//
// Who exchanges with whom. A schedule is a pure function of (name, size, seed, rotate) and the
// step: every worker computes the same table by itself, no message is needed, and nothing is kept
// between calls. So a resumed or late worker is in step as soon as it knows the step number, and
// asking twice does not advance anything.
//
// With v = position of `self` in the rotation in force and k = step mod round_length:
//   dissemination  send to v - 2^k, receive from v + 2^k (mod size); any size
//   hypercube      both to and from v XOR 2^k; sizes that are powers of two
// Source: Daily et al., "GossipGraD", arXiv 1803.05880, and the authors' code for the direction.
//
// Thread-safety: immutable after construction, safe to share.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_SCHEDULE_H_
#define GOSSIPGRAD_CORE_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/ids.h"

namespace gg {

struct Partners {
  Rank send_to = -1;    // -1: nobody (size 1)
  Rank recv_from = -1;  // -1: nobody
  friend bool operator==(const Partners&, const Partners&) = default;
};

class PartnerSchedule {
 public:
  virtual ~PartnerSchedule() = default;
  virtual absl::string_view name() const = 0;
  virtual int size() const = 0;
  // Steps after which every rank has influenced every other: ceil(log2 size), 0 for size 1.
  virtual int round_length() const = 0;
  // The permutation of ranks in force: rotation(step)[v] is the rank at position v. Identity in the
  // first round.
  virtual std::vector<Rank> Rotation(uint64_t step) const = 0;
  // `self` in 0 .. size-1. For fixed step, send_to and recv_from are inverse permutations of the
  // ranks, and nobody is its own partner when size > 1.
  virtual Partners At(Rank self, uint64_t step) const = 0;
};

struct ScheduleOptions {
  int size = 1;
  uint64_t seed = 0;
  bool rotate = true;
};

// kInvalidArgument: unknown name (the message lists the known ones), size < 1, or hypercube with a
// size that is no power of two (the message names the nearest usable sizes and the alternative).
absl::StatusOr<std::unique_ptr<PartnerSchedule>> MakeSchedule(absl::string_view name,
                                                              const ScheduleOptions& options);

// The names MakeSchedule knows, in the order they are documented.
std::vector<absl::string_view> ScheduleNames();

// A fingerprint over the partners of the first `steps` steps of all ranks. Workers compare it at
// the start, so that two builds that disagree are refused instead of waiting for each other.
uint64_t ScheduleFingerprint(const PartnerSchedule& schedule, int steps = 64);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_SCHEDULE_H_
