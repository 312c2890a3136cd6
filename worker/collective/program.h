// SPDX-License-Identifier: Apache-2.0
//
// A plan cut into pieces, with what each piece has to wait for: the part of a collective that is the
// same every time, computed once and carried out many times (run.h).
//
// A piece is a send, or a receive with what follows from it. Pieces that touch the same values take
// effect in the order of the plan, all others whenever they can: so the pieces of one phase follow
// those of the next through the ranks like wagons, and no phase waits for the whole of another.
//
// Thread-safety: immutable.
#ifndef GOSSIPGRAD_WORKER_COLLECTIVE_PROGRAM_H_
#define GOSSIPGRAD_WORKER_COLLECTIVE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/collective/plan.h"

namespace gg {

struct CollectivePiece {
  enum Kind {
    kSend,
    kAdd,    // received aside, then added
    kStore,  // received in place
  };
  Kind kind;
  Rank peer;
  Range range;     // never empty
  uint32_t block;  // of the tag: phase and number of the piece in it
  bool completes;  // kAdd: the sum is then whole, and other ranks have it by sums of their own
  int waits_for;   // pieces that have to be done before this one may touch the vector
  std::vector<int> frees;  // pieces that wait for this one
};

struct CollectiveProgram {
  CollectiveOp op;
  CollectiveAlgorithm algorithm;
  int size;
  Rank rank;
  size_t count = 0;                     // values of the vector
  size_t grain = 1;                     // values
  size_t longest_piece = 0;             // values
  std::vector<CollectivePiece> pieces;  // in the order of the plan
  uint64_t messages = 0;                // sends
  uint64_t values_sent = 0;
  uint64_t receives = 0;
  uint64_t values_received = 0;

  // This rank's part of a reduce-scatter or all-gather.
  Range OwnStrip() const;
};

inline constexpr uint32_t kPiecesPerPhase = 1 << 16;

// Pieces of at most `piece_values`. Ranges begin at multiples of `grain` only, for encodings whose
// blocks must not be cut; `piece_values` is rounded up to one. kInvalidArgument: no such plan (plan.h), or more phases or pieces
// than a tag can number.
absl::StatusOr<std::shared_ptr<const CollectiveProgram>> CompileCollective(
    CollectiveOp op, CollectiveAlgorithm algorithm, int size, Rank rank, size_t count,
    size_t piece_values, size_t grain = 1);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_COLLECTIVE_PROGRAM_H_
