// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/gosgd.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/status.h"
#include "worker/exchange/rule.h"

namespace gg {
namespace {

constexpr int kPool = 8;  // models in each direction
constexpr uint64_t kModel = 16;

}  // namespace

GoSgd::GoSgd(ExchangeContext context, size_t floats, WireFormat format)
    : PushMethod(std::move(context), "gosgd", floats, kPool, format),
      weight_(1.0 / context_.size) {}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> GoSgd::Create(ExchangeContext context) {
  const double probability = context.spec.push_probability;
  if (!(probability > 0 && probability <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange push_probability must be above 0 and at most 1, not ", probability));
  }
  GG_ASSIGN_OR_RETURN(const WireFormat format, ParseEncoding(context.spec, context.seed));
  const size_t floats = context.arena->size();
  return std::unique_ptr<ExchangeStrategy>(new GoSgd(std::move(context), floats, format));
}

absl::Status GoSgd::AfterStep() {
  Rng rng(context_.seed, absl::StrCat("gosgd/", context_.rank), step_);
  if (!(rng.Uniform() < context_.spec.push_probability)) return absl::OkStatus();
  const Rank to = DrawPeer(rng);
  const absl::Time start = context_.clock->Now();
  GG_ASSIGN_OR_RETURN(const Flat body, Outgoing(to));
  if (body.empty()) return absl::OkStatus();
  GG_RETURN_IF_ERROR(Halve(to, body));
  weight_ /= 2;
  Push(to, kModel, 0, weight_, body.size());
  stats_.mixed += context_.clock->Now() - start;
  return absl::OkStatus();
}

absl::Status GoSgd::OnArrival(const Mailbox::Arrival& arrival) {
  const absl::Time begun = context_.clock->Now();
  const Flat live = context_.arena->weights();
  const double theirs = arrival.note.weight;
  absl::Status status = arrival.status;
  if (status.ok() && (arrival.note.kind != kModel || arrival.body.size() != live.size() ||
                      !(theirs > 0 && theirs <= 1))) {
    status = absl::InvalidArgumentError("a push that is no model of this job");
  }
  if (!status.ok()) {
    watch_.Missed(arrival.from, step_, 0, status, stats_);
    return absl::OkStatus();
  }
  const double share = theirs / (weight_ + theirs);
  weight_ += theirs;
  if (!Acceptable(arrival, live, Age(arrival.note.step))) return absl::OkStatus();
  if (DistanceDue()) {
    GG_ASSIGN_OR_RETURN(const double squared,
                        context_.device->SquaredDistance(*context_.stream, live, arrival.body));
    ReportDistance(squared);
  }
  GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, static_cast<float>(share),
                                            arrival.body, static_cast<float>(1 - share), live));
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  ReportMixed(arrival, begun);
  return absl::OkStatus();
}

}  // namespace gg
