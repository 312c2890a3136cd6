// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/service/wire.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/view_codec.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

// clang-format never comes to rest on these lists.
// clang-format off
#define GG_PREPARED_FIELDS(X)                                                         \
  X(schedule_fingerprint) X(data_fingerprint) X(model_fingerprint) X(parameter_count) \
  X(steps_per_epoch) X(total_steps) X(transport)
#define GG_PROGRESS_FIELDS(X)                                                        \
  X(step) X(epoch) X(loss) X(learning_rate) X(samples_per_second) X(comm_wait_ratio) \
  X(skipped_exchanges) X(partner_distance) X(completing)
#define GG_EPOCH_FIELDS(X)                                                                         \
  X(epoch) X(train_loss) X(evaluated) X(test_correct) X(test_samples) X(step) X(train_seconds)     \
  X(wait_seconds) X(sent_bytes) X(partner_distance)
#define GG_FINISHED_FIELDS(X)                                                        \
  X(steps) X(epochs) X(train_seconds) X(samples) X(sent_bytes) X(sent_messages)      \
  X(wait_seconds) X(skipped_exchanges) X(squared_distance) X(squared_parameter_norm) \
  X(replica_accuracy) X(average_correct) X(average_samples) X(average_loss_sum)      \
  X(model_checksum) X(trades_late) X(parameter_count)
#define GG_REGISTER_FIELDS(X)                                                            \
  X(worker_id) X(incarnation) X(software_version) X(host) X(pid) X(address) X(transport) \
  X(device) X(cpu_threads)
// clang-format on
#define GG_READ(field) to.field = from.field();

constexpr size_t kMaxText = 1024;
// gRPC drops an answer whose trailing metadata (percent-encoded message and base64 details) exceed
// 8 KB.
constexpr size_t kMaxStatusMessage = 1000;
constexpr size_t kMaxDescription = 400;
constexpr size_t kMaxViolationBytes = 3000;

// Cut to a length that can be kept or sent, not inside a UTF-8 character.
std::string Clip(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

constexpr int kLastStatusCode = static_cast<int>(absl::StatusCode::kUnauthenticated);

template <typename Message>
input::About AboutOf(const Message& message) {
  return {message.job_id(), message.view()};
}

PreparedReport Read(const v1::Prepared& from) {
  PreparedReport to;
  GG_PREPARED_FIELDS(GG_READ)
  return to;
}
ProgressReport Read(const v1::Progress& from) {
  ProgressReport to;
  GG_PROGRESS_FIELDS(GG_READ)
  return to;
}
EpochReport Read(const v1::EpochReport& from) {
  EpochReport to;
  GG_EPOCH_FIELDS(GG_READ)
  return to;
}
FinishedReport Read(const v1::Finished& from) {
  FinishedReport to;
  GG_FINISHED_FIELDS(GG_READ)
  for (const auto& [phase, seconds] : from.phase_seconds()) to.phase_seconds[phase] = seconds;
  return to;
}

}  // namespace

WorkerInfo FromWire(const v1::Register& from) {
  WorkerInfo to;
  GG_REGISTER_FIELDS(GG_READ)
  to.topology.insert(from.topology().begin(), from.topology().end());
  return to;
}

absl::StatusOr<Input> FromWire(const v1::WorkerMessage& message, const input::Speaker& from) {
  switch (message.body_case()) {
    case v1::WorkerMessage::kHeartbeat:
      return input::WorkerHeartbeat{from};
    case v1::WorkerMessage::kPrepared:
      return input::WorkerPrepared{from, AboutOf(message.prepared()), Read(message.prepared())};
    case v1::WorkerMessage::kProgress:
      return input::WorkerProgress{from, AboutOf(message.progress()), Read(message.progress())};
    case v1::WorkerMessage::kEpoch:
      return input::WorkerEpoch{from, AboutOf(message.epoch()), Read(message.epoch())};
    case v1::WorkerMessage::kFinished:
      return input::WorkerFinished{from, AboutOf(message.finished()), Read(message.finished())};
    case v1::WorkerMessage::kFailed: {
      const v1::Failed& failed = message.failed();
      // A failure with code 0, or one that is not known here, is still a failure.
      const bool known = failed.code() > 0 && failed.code() <= kLastStatusCode;
      return input::WorkerFailed{
          from, AboutOf(failed),
          known ? static_cast<absl::StatusCode>(failed.code()) : absl::StatusCode::kUnknown,
          Clip(failed.message(), kMaxText)};
    }
    case v1::WorkerMessage::kIncident: {
      const v1::Incident& incident = message.incident();
      return input::WorkerIncident{from,
                                   AboutOf(incident),
                                   incident.step(),
                                   Clip(incident.partner(), kMaxText),
                                   Clip(incident.reason(), kMaxText),
                                   Clip(incident.detail(), kMaxText)};
    }
    case v1::WorkerMessage::kLeaving:
      return input::WorkerLeaving{from, Clip(message.leaving().reason(), kMaxText)};
    case v1::WorkerMessage::kRegister:
      return absl::InvalidArgumentError("a control stream carries one Register, at its start");
    case v1::WorkerMessage::BODY_NOT_SET:
      break;
  }
  // A message of a newer worker: it says at least that the worker is alive.
  return input::WorkerHeartbeat{from};
}

v1::CoordinatorMessage ToWire(const command::Assign& body) {
  v1::CoordinatorMessage message;
  v1::Assign* assign = message.mutable_assign();
  assign->set_job_id(body.job_id);
  *assign->mutable_spec() = ToProto(body.spec);
  *assign->mutable_view() = ToProto(body.view);
  assign->set_rank(body.rank);
  return message;
}

v1::CoordinatorMessage ToWire(const command::Begin& body) {
  v1::CoordinatorMessage message;
  message.mutable_begin()->set_job_id(body.job_id);
  message.mutable_begin()->set_view(body.view);
  return message;
}

v1::CoordinatorMessage ToWire(const command::Stop& body) {
  v1::CoordinatorMessage message;
  message.mutable_stop()->set_job_id(body.job_id);
  message.mutable_stop()->set_reason(body.reason);
  return message;
}

v1::FieldViolations ToWire(const std::vector<FieldError>& errors) {
  v1::FieldViolations violations;
  for (const FieldError& error : errors) {
    v1::FieldViolation* violation = violations.add_violations();
    violation->set_field(Clip(error.path, kMaxDescription));
    violation->set_description(Clip(error.suggestion.empty()
                                        ? error.message
                                        : absl::StrCat(error.message, "; ", error.suggestion),
                                    kMaxDescription));
    if (violations.ByteSizeLong() > kMaxViolationBytes) {
      violations.mutable_violations()->RemoveLast();
      break;
    }
  }
  return violations;
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      Clip(status.message(), kMaxStatusMessage));
}

}  // namespace gg
