// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/ad_psgd.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/status.h"
#include "worker/exchange/rule.h"

namespace gg {
namespace {

constexpr int kPool = 8;  // models in each direction
constexpr int kRedraws = 8;

}  // namespace

AdPsgd::AdPsgd(ExchangeContext context, size_t floats, WireFormat format)
    : PullMethod(std::move(context), "ad-psgd", floats, kPool, 0.5, format) {}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> AdPsgd::Create(ExchangeContext context) {
  GG_ASSIGN_OR_RETURN(const WireFormat format, ParseEncoding(context.spec, context.seed));
  const size_t floats = context.arena->size();
  return std::unique_ptr<ExchangeStrategy>(new AdPsgd(std::move(context), floats, format));
}

absl::Status AdPsgd::AfterStep() {
  if (AnythingOpen()) return absl::OkStatus();
  Rng rng(context_.seed, absl::StrCat("ad-psgd/", context_.rank), step_);
  Rank to = DrawPeer(rng);
  // An answer that does not come costs the exchanges of a whole deadline.
  for (int i = 0; i < kRedraws && !watch_.WorthWaiting(to); ++i) to = DrawPeer(rng);
  return Ask(to);
}

bool AdPsgd::TurnsDown(const Mailbox::Arrival& request) {
  return Asking(request.from) && context_.rank < request.from;
}

}  // namespace gg
