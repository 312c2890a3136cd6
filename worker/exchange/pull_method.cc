// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/pull_method.h"

#include <optional>
#include <utility>

#include "core/status.h"

namespace gg {
namespace {

enum Kind : uint64_t { kRequest = 16, kAnswer, kRefusal };

}  // namespace

PullMethod::PullMethod(ExchangeContext context, std::string name, size_t max_floats, int pool,
                       double share, WireFormat format)
    : PushMethod(std::move(context), std::move(name), max_floats, pool, format),
      share_(static_cast<float>(share)) {}

bool PullMethod::AnythingOpen() {
  const absl::Time now = context_.clock->Now();
  const absl::Duration deadline = absl::Seconds(context_.spec.deadline_seconds);
  for (const OpenRequests::Request& late : requests_.GiveUp(now - deadline)) {
    watch_.Missed(late.to, late.step, 0, absl::DeadlineExceededError("no answer had come"), stats_);
  }
  return requests_.any();
}

absl::Status PullMethod::Ask(Rank to) {
  const absl::Time start = context_.clock->Now();
  const Flat asked = Asked(to);
  GG_ASSIGN_OR_RETURN(const Flat body, Outgoing(to));
  if (body.empty()) return absl::OkStatus();
  GG_RETURN_IF_ERROR(context_.device->Copy(*context_.stream, asked, body.subspan(0, asked.size())));
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  Push(to, kRequest, requests_.Open(to, step_, start), 0, asked.size());
  stats_.mixed += context_.clock->Now() - start;
  return absl::OkStatus();
}

void PullMethod::OnFailure(Mailbox::Failure& failure) {
  if (failure.note.kind == kRequest) requests_.Close(failure.note.number, failure.to);
}

absl::Status PullMethod::OnArrival(const Mailbox::Arrival& arrival) {
  absl::Status status = arrival.status;
  size_t floats = 0;
  switch (arrival.note.kind) {
    case kRequest:
      floats = Own().size();
      break;
    case kAnswer:
      floats = Asked(arrival.from).size();
      break;
    case kRefusal:
      break;
    default:
      status.Update(absl::InvalidArgumentError("a message that this method does not know"));
  }
  if (status.ok() && arrival.body.size() != floats) {
    status = absl::InvalidArgumentError("a message of another size than this job's models");
  }
  if (!status.ok()) {
    if (arrival.note.kind == kAnswer) requests_.Close(arrival.note.number, arrival.from);
    watch_.Missed(arrival.from, step_, 0, status, stats_);
    return absl::OkStatus();
  }
  if (arrival.note.kind == kRequest) return Answer(arrival);
  if (arrival.note.kind == kAnswer) return TakeAnswer(arrival);
  requests_.Close(arrival.note.number, arrival.from);
  return absl::OkStatus();
}

absl::Status PullMethod::Answer(const Mailbox::Arrival& request) {
  const absl::Time begun = context_.clock->Now();
  const Flat own = Own();
  Flat pull;
  if (!TurnsDown(request) && Acceptable(request, Reference(), Age(request.note.step))) {
    GG_ASSIGN_OR_RETURN(pull, Outgoing(request.from));
  }
  if (pull.empty()) {
    Tell(request.from, kRefusal, request.note.number);
    return absl::OkStatus();
  }
  pull = pull.subspan(0, own.size());
  Device& device = *context_.device;
  Stream& stream = *context_.stream;
  if (DistanceDue()) {
    GG_ASSIGN_OR_RETURN(const double squared, device.SquaredDistance(stream, own, request.body));
    ReportDistance(DistanceScale() * squared);
  }
  // The memory may hold an old message's NaN, which a factor 0 would not take away.
  GG_RETURN_IF_ERROR(device.Copy(stream, request.body, pull));
  GG_RETURN_IF_ERROR(device.Axpby(stream, -share_, own, share_, pull));
  GG_RETURN_IF_ERROR(stream.Synchronize());
  Round(request.from, pull.size());  // both sides move by the same
  GG_RETURN_IF_ERROR(device.Axpby(stream, 1, pull, 1, own));
  GG_RETURN_IF_ERROR(stream.Synchronize());
  Push(request.from, kAnswer, request.note.number, 0, pull.size());
  ReportMixed(request, begun);
  return absl::OkStatus();
}

absl::Status PullMethod::TakeAnswer(const Mailbox::Arrival& answer) {
  const std::optional<OpenRequests::Request> request =
      requests_.Close(answer.note.number, answer.from);
  if (!request) {
    watch_.Missed(answer.from, step_, 0, absl::InvalidArgumentError("an answer to no question"),
                  stats_);
    return absl::OkStatus();
  }
  const Flat asked = Asked(answer.from);
  // Its d is in the other's model already, however old it is. Of two models of like norms the
  // difference is hardly longer than either.
  if (!Acceptable(answer, Reference(), 0, share_)) return absl::OkStatus();
  GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, -1, answer.body, 1, asked));
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  ReportMixed(answer, request->begun);
  return absl::OkStatus();
}

}  // namespace gg
