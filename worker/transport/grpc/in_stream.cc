// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/in_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr char kPullStateMethod[] = "/gossipgrad.v1.PeerService/PullState";

absl::Status BadFrame(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad frame: ", what));
}

}  // namespace

InStream::InStream(InStreamHost* host)
    : host_(host),
      call_(&context_),
      call_event_([this](bool ok) { OnCall(ok); }),
      read_event_([this](bool ok) { OnRead(ok); }),
      finish_event_([this](bool ok) { OnFinished(ok); }),
      done_event_([this](bool ok) { OnDone(ok); }) {}

void InStream::Accept() {
  context_.AsyncNotifyWhenDone(&done_event_);
  grpc::ServerCompletionQueue* queue = host_->loop()->queue();
  ++operations_;
  host_->service()->RequestCall(&context_, &call_, queue, queue, &call_event_);
}

void InStream::OnCall(bool ok) {
  --operations_;
  if (!ok) {  // the server is shutting down
    state_ = State::kClosed;
    return MaybeGone();
  }
  called_ = true;
  ++operations_;  // done_event_ comes for every call that began
  host_->Accepted();
  if (context_.method() != kExchangeMethod) {
    state_ = State::kClosed;
    finishing_ = true;
    ++operations_;
    const bool later = context_.method() == kPullStateMethod;
    call_.Finish(later ? grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                      "this worker does not serve its state to joiners")
                       : grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                                      absl::StrCat("no method ", context_.method())),
                 &finish_event_);
    return;
  }
  timer_ = host_->loop()->After(host_->join_grace(), [this] {
    timer_.reset();
    Refuse(state_ == State::kHello
               ? absl::DeadlineExceededError("no Hello came")
               : absl::FailedPreconditionError(absl::StrCat(
                     "this worker has not joined view ", hello_.view(), " of job ", hello_.job_id(),
                     " within ", absl::FormatDuration(host_->join_grace()))));
  });
  Read();
}

void InStream::Read() {
  reading_ = true;
  ++operations_;
  call_.Read(&buffer_, &read_event_);
}

void InStream::OnRead(bool ok) {
  --operations_;
  reading_ = false;
  if (state_ == State::kClosed) return MaybeGone();
  if (!ok) return End(absl::UnavailableError("the peer ended its stream"));
  HandleFrame();
}

void InStream::HandleFrame() {
  frame_ = std::make_unique<FrameReader>(&buffer_);
  absl::Status status = frame_->ReadHeader();
  if (status.ok() && (state_ == State::kHello) != frame_->hello().has_value()) {
    status = BadFrame(state_ == State::kHello ? "a Hello must come first" : "a second Hello");
  }
  if (!status.ok()) return Refuse(status);
  if (state_ != State::kHello) return Resume();
  hello_ = *frame_->hello();
  state_ = State::kParked;
  Seat();
}

void InStream::Seat() {
  if (hello_.protocol_version() != kPeerProtocolVersion) {
    return Refuse(absl::FailedPreconditionError(absl::StrCat(
        "protocol version ", hello_.protocol_version(), " of the peer, this worker has ",
        kPeerProtocolVersion, ": run the same release on all workers")));
  }
  const absl::StatusOr<InStreamOwner*> owner = host_->Find(hello_);
  if (absl::IsUnavailable(owner.status())) return;  // parked
  if (!owner.ok()) return Refuse(owner.status());
  if (timer_) host_->loop()->CancelTimer(*std::exchange(timer_, std::nullopt));
  owner_ = *owner;
  peer_ = hello_.from_rank();
  state_ = State::kBound;
  owner_->Bind(this, peer_);
  Resume();
}

void InStream::Resume() {
  if (state_ == State::kParked) return Seat();
  if (state_ != State::kBound || reading_ || frame_ == nullptr) return;
  if (absl::Status status = TakeMessage(); !status.ok()) return Refuse(status);
  if (!held_ && state_ == State::kBound) Read();
}

absl::Status InStream::CheckFrame() const {
  const FrameHeader& h = frame_->header();
  if (h.channel < 1 || h.channel > 3) return BadFrame(absl::StrCat("channel ", h.channel));
  if (h.block > UINT32_MAX) return BadFrame(absl::StrCat("block ", h.block));
  if (h.offset > h.message_bytes || h.chunk_bytes > h.message_bytes - h.offset) {
    return BadFrame(absl::StrCat("bytes ", h.offset, " to ", h.offset + h.chunk_bytes,
                                 " of a message of ", h.message_bytes));
  }
  if (h.chunk_bytes == 0 && h.message_bytes > 0) return BadFrame("an empty chunk");
  return absl::OkStatus();
}

absl::Status InStream::TakeMessage() {
  const FrameHeader& h = frame_->header();
  held_ = false;
  if (h.channel == 0) {  // a Hello alone
    frame_.reset();
    return absl::OkStatus();
  }
  GG_RETURN_IF_ERROR(CheckFrame());
  const Tag tag{static_cast<Channel>(h.channel), h.step, static_cast<uint32_t>(h.block)};
  TagMatcher& to = matcher();
  if (!to.arriving()) {
    if (h.offset != 0) return BadFrame(absl::StrCat("a message begins at offset ", h.offset));
    if (!to.Begin(tag, h.message_bytes)) {
      held_ = true;
      return absl::OkStatus();
    }
  } else if (to.arriving_tag() != tag || to.arriving_bytes() != h.message_bytes ||
             to.arrived() != h.offset) {
    return BadFrame(absl::StrCat("offset ", h.offset, " of ", DescribeTag(tag), " where offset ",
                                 to.arrived(), " of ", DescribeTag(to.arriving_tag()), " is due"));
  }
  if (absl::Status status = frame_->ReadChunk(to.Destination()); !status.ok()) {
    to.Abort(status);
    return status;
  }
  const uint64_t bytes = h.chunk_bytes;
  frame_.reset();
  to.Advance(bytes);
  if (to.arrived() == to.arriving_bytes()) to.Commit();
  return absl::OkStatus();
}

void InStream::Refuse(const absl::Status& why) {
  if (state_ == State::kClosed) return;
  // Past its Hello a stream breaks the rules only when it is damaged.
  if (owner_ != nullptr) {
    owner_->group()->counters.DroppedChecksum();
  } else {
    host_->CountStale(hello_.job_id());
  }
  LeaveOwner(absl::UnavailableError(absl::StrCat("its stream was refused: ", why.message())));
  Close(why.code(), why.message());
}

void InStream::End(const absl::Status& why) {
  if (state_ == State::kClosed) return;
  LeaveOwner(why);
  Close(absl::StatusCode::kOk, "");
}

void InStream::LeaveOwner(const absl::Status& why) {
  if (owner_ == nullptr) return;
  std::exchange(owner_, nullptr)->Unbind(this, peer_, why);
}

void InStream::Close(absl::StatusCode code, absl::string_view reason) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  owner_ = nullptr;
  frame_.reset();
  if (timer_) host_->loop()->CancelTimer(*std::exchange(timer_, std::nullopt));
  if (finishing_) return;
  finishing_ = true;
  ++operations_;
  if (code == absl::StatusCode::kOk) return call_.Finish(grpc::Status::OK, &finish_event_);
  gossipgrad::v1::StreamClosed closed;
  closed.set_code(static_cast<int>(code));
  closed.set_reason(std::string(reason));
  const grpc::Slice slice(closed.SerializeAsString());
  call_.WriteAndFinish(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), grpc::Status::OK,
                       &finish_event_);
}

void InStream::OnFinished(bool) {
  --operations_;
  MaybeGone();
}

void InStream::OnDone(bool) {
  --operations_;
  // A stream that is not being read learns only here that its peer is gone.
  if (state_ != State::kClosed && context_.IsCancelled() && !reading_) {
    return End(absl::UnavailableError("the connection to the peer broke"));
  }
  MaybeGone();
}

void InStream::MaybeGone() {
  if (operations_ == 0 && state_ == State::kClosed) host_->Gone(this);
}

}  // namespace gg
