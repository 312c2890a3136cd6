// SPDX-License-Identifier: Apache-2.0
//
// What one rank sends and receives in a collective, as data: a pure function of (operation,
// algorithm, size, rank, count), the same at every worker, without I/O. worker/collective/run.h
// carries it out.
//
// All ranks of a plan have the same number of phases, and what a rank sends to another in phase k
// is what that one receives from it in phase k, range for range. The phases of a rank take effect
// in order: a phase sends what the earlier ones have left in the vector.
//
// With p ranks and n values, messages and values that a rank sends:
//   all-reduce       ring                 2 (p - 1), 2 n (p - 1) / p     any p
//                    halving-doubling     2 log2 p,  2 n (p - 1) / p     any p, see below
//                    recursive doubling   log2 p,    n log2 p            any p, see below
//   reduce-scatter   ring                 p - 1,     n (p - 1) / p       any p
//                    halving-doubling     log2 p,    n (p - 1) / p       powers of two
//   all-gather       the same two, backwards
// Where p is no power of two the last two fold: with r = p - 2^floor(log2 p), each even rank below
// 2 r hands its vector to the odd one above it and gets the result in the end, n values each way.
//
// Every value is summed in one order at one rank and copied from there, or by sums that are the
// same at each rank because a + b = b + a: all ranks end with the same bits.
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", 2005.
//
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_WORKER_COLLECTIVE_PLAN_H_
#define GOSSIPGRAD_WORKER_COLLECTIVE_PLAN_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/ids.h"

namespace gg {

enum class CollectiveOp {
  kAllReduce,      // everybody ends with the sum
  kReduceScatter,  // rank r ends with the sum in Strip(r); the rest of its vector is spent
  kAllGather,      // rank r brings Strip(r), everybody ends with all
};

enum class CollectiveAlgorithm { kRing, kHalvingDoubling, kRecursiveDoubling };

// "ring", "halving-doubling", "recursive-doubling".
absl::string_view CollectiveAlgorithmName(CollectiveAlgorithm algorithm);

// Values begin .. end - 1 of the vector.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

struct CollectivePhase {
  Rank send_to = -1;  // -1: nobody
  Range send;
  Rank recv_from = -1;  // -1: nobody
  Range recv;
  bool add = false;  // what arrives is added to the vector; else it takes its place
  friend bool operator==(const CollectivePhase&, const CollectivePhase&) = default;
};

// The strip of `rank`: strips are as equal as can be, in order, and empty where count < size.
Range Strip(size_t count, int size, Rank rank);

// kInvalidArgument: a combination that the table above does not have.
absl::StatusOr<std::vector<CollectivePhase>> PlanCollective(CollectiveOp op,
                                                            CollectiveAlgorithm algorithm, int size,
                                                            Rank rank, size_t count);

// The ranks whose sends stand behind what `rank` receives in `phase`: without any one of them it
// cannot arrive. True at the index of each such rank.
std::vector<bool> RanksBehind(CollectiveOp op, CollectiveAlgorithm algorithm, int size, Rank rank,
                              size_t count, size_t phase);

// The algorithm for vectors of `bytes` between `size` ranks. docs/benchmarks/collectives.md says how
// the bounds were found.
CollectiveAlgorithm ChooseCollective(CollectiveOp op, int size, size_t bytes);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_COLLECTIVE_PLAN_H_
