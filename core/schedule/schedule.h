// SPDX-License-Identifier: Apache-2.0
//
// Who exchanges with whom. A schedule is a pure function of (name, size, seed, rotate, graph, places)
// and the step: every worker computes the same table by itself, no message is needed, and nothing is
// kept between calls. So a resumed or late worker is in step as soon as it knows the step number, and
// asking twice does not advance anything.
//
// With v = position of `self` in the rotation in force and k = step mod round_length:
//   dissemination  send to v - 2^k, receive from v + 2^k (mod size); any size
//   hypercube      both to and from v XOR 2^k; sizes that are powers of two
//   ring           send to v + 1, receive from v - 1 (mod size); any size
//   exponential    send to v + 2^k, receive from v - 2^k (mod size); any size
//   random         a perfect matching drawn anew at every step; of an odd number one worker rests
//   graph          what a file says (graph.h)
//   hierarchical   dissemination over groups of workers that are one in every step (grouping.h)
// Sources: dissemination and hypercube: Daily et al., "GossipGraD", arXiv 1803.05880, and the authors'
// code for the direction. exponential: the one-peer exponential graph of Assran et al., "Stochastic
// Gradient Push", arXiv 1811.10792. random: Boyd et al., "Randomized gossip algorithms", 2006.
//
// Thread-safety: immutable after construction, safe to share.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_SCHEDULE_H_
#define GOSSIPGRAD_CORE_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/ids.h"
#include "core/schedule/graph.h"

namespace gg {

// -1: nobody. Both are -1 for size 1, and for a worker that rests in a step of random or graph; a
// graph may also let a worker only send or only receive.
struct Partners {
  Rank send_to = -1;
  Rank recv_from = -1;
  friend bool operator==(const Partners&, const Partners&) = default;
};

class PartnerSchedule {
 public:
  virtual ~PartnerSchedule() = default;
  virtual absl::string_view name() const = 0;
  virtual int size() const = 0;
  // Steps from the beginning of a round after which every rank has influenced every other, the unit
  // in which rotations change; 0 for size 1. Of random the fewest that are possible,
  // ceil(log2 size): how many it takes is by chance, at most twice as many in the mean
  // (docs/algorithms/random.md).
  virtual int round_length() const = 0;
  // The permutation of ranks in force: rotation(step)[v] is the rank at position v. Identity in the
  // first round.
  virtual std::vector<Rank> Rotation(uint64_t step) const = 0;
  // The partners of all ranks. Whoever is sent to receives from the sender and the other way round,
  // and nobody is its own partner. Except in graph and for a resting worker, everybody sends and
  // receives when size > 1.
  virtual std::vector<Partners> Table(uint64_t step) const = 0;
  // Those of `self`, 0 .. size-1.
  virtual Partners At(Rank self, uint64_t step) const { return Table(step)[self]; }
  // The workers, `self` among them, that average their gradients exactly in every step before they
  // meet their partners: `self` alone except in hierarchical.
  virtual std::vector<Rank> GroupOf(Rank self) const { return {self}; }
};

struct ScheduleOptions {
  int size = 1;
  uint64_t seed = 0;
  bool rotate = true;                                    // random draws anew in any case
  std::shared_ptr<const ScheduleGraph> graph = nullptr;  // graph only
  std::vector<std::string> places = {};  // hierarchical only: by rank; equal ones form a group
};

// kInvalidArgument: unknown name (the message lists the known ones), size < 1, hypercube with a
// size that is no power of two (the message names the nearest usable sizes and the alternative),
// graph without one or of another size, hierarchical without places or with groups of different
// sizes.
absl::StatusOr<std::unique_ptr<PartnerSchedule>> MakeSchedule(absl::string_view name,
                                                              const ScheduleOptions& options);

// The names MakeSchedule knows, in the order they are documented.
std::vector<absl::string_view> ScheduleNames();

// A fingerprint over the partners of the first `steps` steps of all ranks. Workers compare it at
// the start, so that two builds that disagree are refused instead of waiting for each other.
uint64_t ScheduleFingerprint(const PartnerSchedule& schedule, int steps = 64);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_SCHEDULE_H_
