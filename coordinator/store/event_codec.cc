// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/event_codec.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/store/events.pb.h"
#include "core/status.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/view_codec.h"

namespace gg {
namespace {

namespace pb = gossipgrad::store;
namespace v1 = gossipgrad::v1;

// The fields that have the same name and type on both sides, once for both directions.
// clang-format off
#define GG_WORKER_FIELDS(X) \
  X(worker_id) X(incarnation) X(software_version) X(host) X(pid) X(address) X(transport) X(device) \
  X(cpu_threads)
#define GG_RESULT_VALUES(X) \
  X(test_accuracy) X(test_loss) X(samples_per_second) X(train_seconds) X(sent_bytes_per_step) \
  X(messages_per_step) X(comm_wait_ratio) X(consensus_distance) X(skipped_exchanges) X(steps) \
  X(epochs) X(parameter_norm) X(parameter_count) X(model_checksum) X(trades_late)
#define GG_MEMBER_VALUES(X) \
  X(step) X(epoch) X(loss) X(learning_rate) X(samples_per_second) X(comm_wait_ratio) \
  X(skipped_exchanges) X(partner_distance) X(completing)
#define GG_PROGRESS_VALUES(X) \
  X(step) X(total_steps) X(epoch) X(total_epochs) X(loss) X(learning_rate) X(samples_per_second) \
  X(comm_wait_ratio) X(test_accuracy) X(eta_seconds)
#define GG_POINT_VALUES(X) \
  X(epoch) X(step) X(train_seconds) X(sent_bytes) X(train_loss) X(test_accuracy) \
  X(consensus_distance) X(comm_wait_ratio)
// clang-format on
#define GG_RESULT_LISTS(X) X(replica_accuracy) X(train_loss) X(epoch_test_accuracy)

#define GG_WRITE_ONE(field) to->set_##field(from.field);
#define GG_WRITE_LIST(field) to->mutable_##field()->Assign(from.field.begin(), from.field.end());
#define GG_READ_ONE(field) to->field = from.field();
#define GG_READ_LIST(field) to->field.assign(from.field().begin(), from.field().end());

void Write(const WorkerInfo& from, pb::Worker* to) {
  GG_WORKER_FIELDS(GG_WRITE_ONE)
  to->mutable_topology()->insert(from.topology.begin(), from.topology.end());
}
void Read(const pb::Worker& from, WorkerInfo* to) {
  GG_WORKER_FIELDS(GG_READ_ONE)
  to->topology.insert(from.topology().begin(), from.topology().end());
}

void Write(const JobResult& from, v1::JobResult* to) {
  GG_RESULT_VALUES(GG_WRITE_ONE)
  GG_RESULT_LISTS(GG_WRITE_LIST)
  for (const auto& [phase, seconds] : from.phase_seconds) {
    (*to->mutable_phase_seconds())[phase] = seconds;
  }
}
void Read(const v1::JobResult& from, JobResult* to) {
  GG_RESULT_VALUES(GG_READ_ONE)
  GG_RESULT_LISTS(GG_READ_LIST)
  for (const auto& [phase, seconds] : from.phase_seconds()) to->phase_seconds[phase] = seconds;
}

void Write(const ProgressReport& from, pb::MemberEnd* to) {
  GG_MEMBER_VALUES(GG_WRITE_ONE)
}
void Read(const pb::MemberEnd& from, ProgressReport* to) {
  GG_MEMBER_VALUES(GG_READ_ONE)
}

void Write(const MemberEnd& from, pb::MemberEnd* to) {
  to->set_phase(static_cast<int>(from.phase));
  to->set_reason(from.reason);
  to->set_transport(from.transport);
  Write(from.progress, to);
}
MemberEnd ReadMemberEnd(const pb::MemberEnd& from) {
  MemberEnd to;
  if (from.phase() >= static_cast<int>(MemberPhase::kPreparing) &&
      from.phase() <= static_cast<int>(MemberPhase::kStopped)) {
    to.phase = static_cast<MemberPhase>(from.phase());
  }
  to.reason = from.reason();
  to.transport = from.transport();
  Read(from, &to.progress);
  return to;
}

void Write(const EpochPoint& from, v1::EpochPoint* to) {
  GG_POINT_VALUES(GG_WRITE_ONE)
}
void Read(const v1::EpochPoint& from, EpochPoint* to) {
  GG_POINT_VALUES(GG_READ_ONE)
}

void Write(const JobProgress& from, v1::JobProgress* to) {
  GG_PROGRESS_VALUES(GG_WRITE_ONE)
  if (from.last_updated != absl::InfinitePast())
    *to->mutable_last_updated() = ToProto(from.last_updated);
  for (const EpochPoint& point : from.curve) *to->add_curve() = ToProto(point);
}
void Read(const v1::JobProgress& from, JobProgress* to) {
  GG_PROGRESS_VALUES(GG_READ_ONE)
  if (from.has_last_updated()) to->last_updated = FromProto(from.last_updated());
  for (const v1::EpochPoint& from_point : from.curve()) {
    EpochPoint* to_point = &to->curve.emplace_back();
    Read(from_point, to_point);
  }
}

void Write(const JobNote& from, v1::JobEvent* to) {
  *to->mutable_time() = ToProto(from.time);
  to->set_type(from.warning ? "Warning" : "Normal");
  to->set_reason(from.reason);
  to->set_message(from.message);
  to->set_worker_id(from.worker_id);
}
JobNote ReadNote(const v1::JobEvent& from) {
  return {FromProto(from.time()), from.type() == "Warning", from.reason(), from.message(),
          from.worker_id()};
}

struct Encoder {
  pb::StoredEvent* out;

  void operator()(const event::JobSubmitted& e) const {
    pb::Submitted* to = out->mutable_submitted();
    to->set_job_id(e.job_id);
    *to->mutable_time() = ToProto(e.time);
    to->set_request_id(e.request_id);
    *to->mutable_spec() = ToProto(e.spec);
  }
  void operator()(const event::JobAssigned& e) const {
    pb::Assigned* to = out->mutable_assigned();
    to->set_job_id(e.job_id);
    *to->mutable_time() = ToProto(e.time);
    to->set_view(e.view);
    for (const WorkerInfo& member : e.members) Write(member, to->add_members());
  }
  void operator()(const event::JobAdvanced& e) const {
    pb::Advanced* to = out->mutable_advanced();
    to->set_job_id(e.job_id);
    *to->mutable_time() = ToProto(e.time);
    to->set_state(static_cast<v1::JobState>(e.state));
  }
  void operator()(const event::JobEnded& e) const {
    pb::Ended* to = out->mutable_ended();
    to->set_job_id(e.job_id);
    *to->mutable_time() = ToProto(e.time);
    to->set_state(static_cast<v1::JobState>(e.state));
    to->set_reason(e.reason);
    to->set_failure(static_cast<int>(e.failure));
    to->set_note(e.note);
    if (e.result.has_value()) Write(*e.result, to->mutable_result());
    to->set_culprit(e.culprit);
    for (const MemberEnd& member : e.members) Write(member, to->add_members());
    Write(e.progress, to->mutable_progress());
    for (const JobNote& note : e.notes) Write(note, to->add_history());
    to->set_revision(e.revision);
  }
  void operator()(const event::JobForgotten& e) const {
    pb::Forgotten* to = out->mutable_forgotten();
    to->set_job_id(e.job_id);
    to->set_last_view(e.last_view);
    to->set_last_job_number(e.last_job_number);
  }
  template <typename Volatile>
  void operator()(const Volatile&) const {}
};

absl::StatusOr<JobState> ReadState(v1::JobState state) {
  if (state < v1::JOB_STATE_PENDING || state > v1::JOB_STATE_CANCELLED) {
    return absl::FailedPreconditionError(
        absl::StrCat("job state ", static_cast<int>(state), " is of a newer version"));
  }
  return static_cast<JobState>(state);
}

Event ReadSubmitted(const pb::Submitted& from) {
  return event::JobSubmitted{from.job_id(), FromProto(from.time()), from.request_id(),
                             FromProto(from.spec())};
}

Event ReadAssigned(const pb::Assigned& from) {
  event::JobAssigned e{from.job_id(), FromProto(from.time()), from.view(), {}};
  for (const pb::Worker& member : from.members()) Read(member, &e.members.emplace_back());
  return e;
}

absl::StatusOr<Event> ReadAdvanced(const pb::Advanced& from) {
  GG_ASSIGN_OR_RETURN(const JobState state, ReadState(from.state()));
  return event::JobAdvanced{from.job_id(), FromProto(from.time()), state};
}

absl::StatusOr<Event> ReadEnded(const pb::Ended& from) {
  event::JobEnded e;
  e.job_id = from.job_id();
  e.time = FromProto(from.time());
  GG_ASSIGN_OR_RETURN(e.state, ReadState(from.state()));
  e.reason = from.reason();
  e.failure = static_cast<absl::StatusCode>(from.failure());
  e.note = from.note();
  if (from.has_result()) e.result = FromProto(from.result());
  e.culprit = from.culprit();
  for (const pb::MemberEnd& member : from.members()) e.members.push_back(ReadMemberEnd(member));
  if (from.has_progress()) Read(from.progress(), &e.progress);
  for (const v1::JobEvent& note : from.history()) e.notes.push_back(ReadNote(note));
  e.revision = from.revision();
  return e;
}

}  // namespace

v1::JobResult ToProto(const JobResult& result) {
  v1::JobResult proto;
  Write(result, &proto);
  return proto;
}

v1::EpochPoint ToProto(const EpochPoint& point) {
  v1::EpochPoint proto;
  Write(point, &proto);
  return proto;
}

JobResult FromProto(const v1::JobResult& proto) {
  JobResult result;
  Read(proto, &result);
  return result;
}

absl::StatusOr<std::string> EncodeEvent(const Event& event) {
  if (!IsDurable(event)) {
    return absl::InvalidArgumentError(
        absl::StrCat("event ", event.index(), " is not one that the store keeps"));
  }
  pb::StoredEvent stored;
  stored.set_version(kStoredEventVersion);
  std::visit(Encoder{&stored}, event);
  return stored.SerializeAsString();
}

absl::StatusOr<Event> DecodeEvent(absl::string_view bytes) {
  pb::StoredEvent stored;
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      stored.version() == 0) {
    return absl::DataLossError(absl::StrCat("not an event (", bytes.size(), " bytes)"));
  }
  if (stored.version() > kStoredEventVersion) {
    return absl::FailedPreconditionError(absl::StrCat("event of version ", stored.version(),
                                                      ", this program reads up to ",
                                                      kStoredEventVersion, ": use a newer one"));
  }
  switch (stored.body_case()) {
    case pb::StoredEvent::kSubmitted:
      return ReadSubmitted(stored.submitted());
    case pb::StoredEvent::kAssigned:
      return ReadAssigned(stored.assigned());
    case pb::StoredEvent::kAdvanced:
      return ReadAdvanced(stored.advanced());
    case pb::StoredEvent::kEnded:
      return ReadEnded(stored.ended());
    case pb::StoredEvent::kForgotten:
      return event::JobForgotten{stored.forgotten().job_id(), stored.forgotten().last_view(),
                                 stored.forgotten().last_job_number()};
    case pb::StoredEvent::BODY_NOT_SET:
      break;
  }
  return absl::DataLossError("an event without a body that this program knows");
}

}  // namespace gg
