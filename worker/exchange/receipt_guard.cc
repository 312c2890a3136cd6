// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/receipt_guard.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/clones.h"

namespace gg {
namespace {

// Sixteen sums side by side, so that the compiler need not change an order to make vector code.
GG_VECTOR_CLONES double SquaredSum(const float* values, size_t count) {
  constexpr size_t kLanes = 16;
  std::array<double, kLanes> lanes{};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) {
      const double value = values[i + k];
      lanes[k] += value * value;
    }
  }
  double sum = 0;
  for (; i < count; ++i) sum += double{values[i]} * double{values[i]};
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

double NormOf(absl::Span<const ConstFlat> parts) {
  double sum = 0;
  for (const ConstFlat part : parts) sum += SquaredSum(part.data(), part.size());
  return std::sqrt(sum);
}

ReceiptGuard::ReceiptGuard(const ExchangeContext& context)
    : context_(context), peers_(context.size) {
  ShowQuarantined();
}

Verdict ReceiptGuard::Check(Rank peer, absl::Span<const ConstFlat> parts, double own_norm,
                            uint64_t age) {
  Peer& p = peers_[peer];
  begun_ = false;
  if (p.pause > 0) {
    why_ = "it is in quarantine";
    if (--p.pause == 0) ShowQuarantined();
    return Verdict::kQuarantine;
  }
  const Verdict verdict = Judge(parts, own_norm, age);
  if (verdict == Verdict::kTake) Taken(p);
  if (verdict == Verdict::kNonFinite || verdict == Verdict::kNorm) Refused(p);
  return verdict;
}

Verdict ReceiptGuard::Judge(absl::Span<const ConstFlat> parts, double own_norm, uint64_t age) {
  const ExchangeSpec& spec = context_.spec;
  if (spec.staleness_bound > 0 && age > static_cast<uint64_t>(spec.staleness_bound)) {
    why_ = absl::StrCat("it is ", age, " steps old, at most ", spec.staleness_bound,
                        " are allowed (spec.exchange.staleness_bound)");
    return Verdict::kStale;
  }
  const double norm = NormOf(parts);
  if (!std::isfinite(norm)) {
    why_ = "it holds NaN or infinite values, so that worker has probably diverged";
    return Verdict::kNonFinite;
  }
  if (spec.norm_limit > 0 && own_norm > 0 && norm > spec.norm_limit * own_norm) {
    why_ = absl::StrCat("its norm is ", norm, " where our own is ", own_norm, ", more than ",
                        spec.norm_limit, " times as much (spec.exchange.norm_limit)");
    return Verdict::kNorm;
  }
  return Verdict::kTake;
}

void ReceiptGuard::Refused(Peer& peer) {
  peer.taken_in_a_row = 0;
  ++peer.refused_in_a_row;
  const int64_t limit = context_.spec.quarantine_after;
  if (limit == 0) return;
  // Who comes from a quarantine gets one chance.
  if (peer.quarantines == 0 && peer.refused_in_a_row < limit) return;
  absl::StrAppend(&why_, "; ", peer.refused_in_a_row, " in a row were refused");
  peer.pause = kFirstPause << std::min(peer.quarantines, kDoublings);
  ++peer.quarantines;
  peer.refused_in_a_row = 0;
  begun_ = true;
  absl::StrAppend(&why_, ", and what it sends is left out for ", peer.pause, " exchanges");
  ShowQuarantined();
}

void ReceiptGuard::Taken(Peer& peer) {
  peer.refused_in_a_row = 0;
  if (++peer.taken_in_a_row >= context_.spec.quarantine_after) peer.quarantines = 0;
}

void ReceiptGuard::ShowQuarantined() {
  if (context_.metrics == nullptr) return;
  const auto in =
      std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.pause > 0; });
  context_.metrics->Set(GaugeId::kGossipQuarantined, static_cast<double>(in));
}

}  // namespace gg
