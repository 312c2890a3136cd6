// SPDX-License-Identifier: Apache-2.0
#include "worker/collective/plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gg {
namespace {

using Phases = std::vector<CollectivePhase>;

// The ranks that take part in the power-of-two part: `core` of them, of which the first `folded`
// act for two.
struct Fold {
  int core;
  int folded;

  explicit Fold(int size)
      : core(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))), folded(size - core) {}
  // Number among the core, -1 for one that is acted for.
  int Number(Rank rank) const {
    if (rank >= 2 * folded) return rank - folded;
    return rank % 2 == 1 ? rank / 2 : -1;
  }
  Rank RankOf(int number) const { return number < folded ? 2 * number + 1 : number + folded; }
};

Range Strips(size_t count, int size, int first, int last) {
  return {Strip(count, size, first).begin, Strip(count, size, last - 1).end};
}

int Mod(int a, int size) {
  return (a % size + size) % size;
}

void RingReduceScatter(int size, Rank rank, size_t count, Phases& out) {
  for (int k = 0; k < size - 1; ++k) {
    out.push_back({.send_to = Mod(rank + 1, size),
                   .send = Strip(count, size, Mod(rank - k - 1, size)),
                   .recv_from = Mod(rank - 1, size),
                   .recv = Strip(count, size, Mod(rank - k - 2, size)),
                   .add = true});
  }
}

void RingAllGather(int size, Rank rank, size_t count, Phases& out) {
  for (int k = 0; k < size - 1; ++k) {
    out.push_back({.send_to = Mod(rank + 1, size),
                   .send = Strip(count, size, Mod(rank - k, size)),
                   .recv_from = Mod(rank - 1, size),
                   .recv = Strip(count, size, Mod(rank - k - 1, size)),
                   .add = false});
  }
}

// Recursive halving among the core: number n ends with strip n of `fold.core`.
void Halve(const Fold& fold, int number, size_t count, Phases& out) {
  int first = 0, last = fold.core;  // strips that are still ours to reduce
  for (int mask = fold.core / 2; mask > 0; mask /= 2) {
    const Rank peer = fold.RankOf(number ^ mask);
    const int middle = first + mask;
    const bool upper = (number & mask) != 0;
    const Range low = Strips(count, fold.core, first, middle);
    const Range high = Strips(count, fold.core, middle, last);
    out.push_back({.send_to = peer,
                   .send = upper ? low : high,
                   .recv_from = peer,
                   .recv = upper ? high : low,
                   .add = true});
    (upper ? first : last) = middle;
  }
}

void Double(const Fold& fold, int number, size_t count, Phases& out) {
  int first = number, last = number + 1;  // strips that we have
  for (int mask = 1; mask < fold.core; mask *= 2) {
    const Rank peer = fold.RankOf(number ^ mask);
    const bool upper = (number & mask) != 0;
    const int other_first = upper ? first - mask : last;
    out.push_back({.send_to = peer,
                   .send = Strips(count, fold.core, first, last),
                   .recv_from = peer,
                   .recv = Strips(count, fold.core, other_first, other_first + mask),
                   .add = false});
    (upper ? first : last) = upper ? first - mask : last + mask;
  }
}

void DoubleWhole(const Fold& fold, int number, size_t count, Phases& out) {
  for (int mask = 1; mask < fold.core; mask *= 2) {
    const Rank peer = fold.RankOf(number ^ mask);
    out.push_back(
        {.send_to = peer, .send = {0, count}, .recv_from = peer, .recv = {0, count}, .add = true});
  }
}

Phases FoldedAllReduce(CollectiveAlgorithm algorithm, int size, Rank rank, size_t count) {
  const Fold fold(size);
  const int number = fold.Number(rank);
  const bool doubles_up = rank < 2 * fold.folded;
  const Range all = {0, count};
  Phases out;
  if (fold.folded > 0) {
    CollectivePhase& in = out.emplace_back();
    if (doubles_up && number < 0) {
      in.send_to = rank + 1;
      in.send = all;
    } else if (doubles_up) {
      in.recv_from = rank - 1;
      in.recv = all;
      in.add = true;
    }
  }
  const size_t before = out.size();
  const bool halves = algorithm == CollectiveAlgorithm::kHalvingDoubling;
  if (number >= 0 && halves) {
    Halve(fold, number, count, out);
    Double(fold, number, count, out);
  } else if (number >= 0) {
    DoubleWhole(fold, number, count, out);
  }
  const int steps = std::countr_zero(static_cast<unsigned>(fold.core)) * (halves ? 2 : 1);
  out.resize(before + steps);  // whoever is acted for stays idle
  if (fold.folded > 0) {
    CollectivePhase& back = out.emplace_back();
    if (doubles_up && number < 0) {
      back.recv_from = rank + 1;
      back.recv = all;
    } else if (doubles_up) {
      back.send_to = rank - 1;
      back.send = all;
    }
  }
  return out;
}

absl::Status NoSuchPlan(CollectiveAlgorithm algorithm, int size) {
  return absl::InvalidArgumentError(
      absl::StrCat("no such collective: ", CollectiveAlgorithmName(algorithm),
                   " cannot scatter or gather strips between ", size,
                   " ranks; use ring, which takes any number"));
}

}  // namespace

absl::string_view CollectiveAlgorithmName(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return "ring";
    case CollectiveAlgorithm::kHalvingDoubling:
      return "halving-doubling";
    case CollectiveAlgorithm::kRecursiveDoubling:
      return "recursive-doubling";
  }
  return "";
}

Range Strip(size_t count, int size, Rank rank) {
  const size_t share = count / size, rest = count % size, r = rank;
  const auto at = [&](size_t i) { return i * share + std::min(i, rest); };
  return {at(r), at(r + 1)};
}

absl::StatusOr<std::vector<CollectivePhase>> PlanCollective(CollectiveOp op,
                                                            CollectiveAlgorithm algorithm, int size,
                                                            Rank rank, size_t count) {
  if (size < 1 || rank < 0 || rank >= size) {
    return absl::InvalidArgumentError(
        absl::StrCat("collective: rank ", rank, " is not in 0 .. ", size - 1));
  }
  Phases out;
  if (size == 1) return out;
  if (algorithm == CollectiveAlgorithm::kRing) {
    if (op != CollectiveOp::kAllGather) RingReduceScatter(size, rank, count, out);
    if (op != CollectiveOp::kReduceScatter) RingAllGather(size, rank, count, out);
    return out;
  }
  if (op == CollectiveOp::kAllReduce) return FoldedAllReduce(algorithm, size, rank, count);
  const Fold fold(size);
  if (algorithm != CollectiveAlgorithm::kHalvingDoubling || fold.folded > 0) {
    return NoSuchPlan(algorithm, size);
  }
  if (op == CollectiveOp::kReduceScatter) Halve(fold, rank, count, out);
  if (op == CollectiveOp::kAllGather) Double(fold, rank, count, out);
  return out;
}

std::vector<bool> RanksBehind(CollectiveOp op, CollectiveAlgorithm algorithm, int size, Rank rank,
                              size_t count, size_t phase) {
  std::vector<bool> behind(size, false);
  std::vector<Phases> plans;
  for (Rank r = 0; r < size; ++r) {
    auto plan = PlanCollective(op, algorithm, size, r, count);
    if (!plan.ok()) return behind;
    plans.push_back(*std::move(plan));
  }
  std::vector<std::vector<bool>> seen(size, std::vector<bool>(plans[rank].size(), false));
  std::vector<std::pair<Rank, size_t>> open = {{rank, phase}};
  while (!open.empty()) {
    const auto [receiver, k] = open.back();
    open.pop_back();
    const CollectivePhase& received = plans[receiver][k];
    const Rank sender = received.recv_from;
    if (sender < 0 || seen[receiver][k]) continue;
    seen[receiver][k] = true;
    behind[sender] = true;
    for (size_t earlier = 0; earlier < k; ++earlier) {
      const CollectivePhase& wrote = plans[sender][earlier];
      const bool overlap =
          wrote.recv.begin < received.recv.end && received.recv.begin < wrote.recv.end;
      if (wrote.recv_from >= 0 && overlap) open.emplace_back(sender, earlier);
    }
  }
  return behind;
}

CollectiveAlgorithm ChooseCollective(CollectiveOp op, int size, size_t bytes) {
  constexpr size_t kWholeVectors = 64 << 10;
  constexpr size_t kFewMessages = 1 << 20;
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(size));
  if (op != CollectiveOp::kAllReduce) {
    return power_of_two && bytes <= kFewMessages ? CollectiveAlgorithm::kHalvingDoubling
                                                 : CollectiveAlgorithm::kRing;
  }
  if (bytes <= kWholeVectors) return CollectiveAlgorithm::kRecursiveDoubling;
  return bytes <= kFewMessages ? CollectiveAlgorithm::kHalvingDoubling : CollectiveAlgorithm::kRing;
}

}  // namespace gg
