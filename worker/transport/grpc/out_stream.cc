// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/out_stream.h"

#include <grpcpp/create_channel_posix.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/sync.h"
#include "worker/transport/grpc/channel_args.h"

namespace gg {

namespace {

// Guards the leases of all streams. gRPC hands a lease from the thread that made a slice to the one
// that drops it by means that ThreadSanitizer cannot see; this lock, which no lease has to be read
// to find, is what it sees instead.
Mutex lease_mu;

}  // namespace

// One message and the memory it was lent. gRPC may keep a slice after the operation that carried it
// has ended, so the memory is free only when the stream and every slice have let go of it.
class OutStream::Lease {
 public:
  static Lease* Make(Loop* loop, OutgoingMessage message) {
    MutexLock lock(&lease_mu);
    return new Lease(loop, std::move(message));
  }

  const Tag& tag() const { return message_.tag; }
  uint64_t bytes() const { return message_.bytes.size(); }
  const uint8_t* data() const { return message_.bytes.data(); }

  grpc::Slice Slice(uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return grpc::Slice();
    {
      MutexLock lock(&lease_mu);
      ++holders_;
    }
    // The cast drops const for gRPC's signature; nobody writes through it.
    return grpc::Slice(const_cast<uint8_t*>(data() + offset), bytes, &Lease::SliceGone, this);
  }
  // The stream is done with it, on the loop's thread.
  void Finish(absl::Status status) {
    {
      MutexLock lock(&lease_mu);
      status_ = std::move(status);
      if (--holders_ > 0) return;
    }
    Complete();
  }

 private:
  Lease(Loop* loop, OutgoingMessage message) : loop_(loop), message_(std::move(message)) {}
  ~Lease() = default;
  static void SliceGone(void* self) {  // any thread of gRPC's, inside it
    Lease* lease = static_cast<Lease*>(self);
    Loop* loop;
    {
      MutexLock lock(&lease_mu);
      if (--lease->holders_ > 0) return;
      loop = lease->loop_;
    }
    loop->Post([lease] { lease->Complete(); });
  }
  void Complete() {
    message_.done(std::move(status_));
    delete this;
  }

  Loop* const loop_;
  OutgoingMessage message_;
  absl::Status status_;
  int holders_ ABSL_GUARDED_BY(lease_mu) = 1;  // the stream, and every slice
};

OutStream::OutStream(CqLoop* loop, std::string peer, Socket socket, gossipgrad::v1::Hello hello,
                     uint64_t chunk_bytes, Events events)
    : loop_(loop),
      peer_(std::move(peer)),
      socket_(std::move(socket)),
      hello_(std::move(hello)),
      chunk_bytes_(std::clamp<uint64_t>(chunk_bytes, 1, kMaxChunkBytes)),
      events_(std::move(events)),
      start_event_([this](bool ok) { OnStarted(ok); }),
      write_event_([this](bool ok) { OnWritten(ok); }),
      read_event_([this](bool ok) { OnRead(ok); }),
      finish_event_([this](bool ok) { OnFinished(ok); }) {}

OutStream::~OutStream() = default;

absl::Status OutStream::Start() {
  GG_ASSIGN_OR_RETURN(const int fd, socket_.Duplicate());
  channel_ = grpc::CreateCustomInsecureChannelFromFd(socket_.target(), fd, LinkChannelArguments());
  stub_ = std::make_unique<grpc::GenericStub>(channel_);
  call_ = stub_->PrepareCall(&context_, kExchangeMethod, loop_->queue());
  call_->StartCall(&start_event_);
  ++operations_;
  return absl::OkStatus();
}

void OutStream::OnStarted(bool ok) {
  --operations_;
  started_ = true;
  ++operations_;
  call_->Read(&read_buffer_, &read_event_);
  if (!ok) {
    write_failed_ = true;
  } else {
    writing_ = true;
    ++operations_;
    call_->Write(EncodeHello(hello_), &write_event_);
  }
}

void OutStream::Send(OutgoingMessage message) {
  messages_.push_back(Lease::Make(loop_, std::move(message)));
  if (started_ && !writing_) WriteNext();
}

void OutStream::WriteNext() {
  if (write_failed_ || finishing_ || half_closed_) return;
  if (messages_.empty()) return CloseWhenIdle();
  Lease& lease = *messages_.front();
  FrameHeader header;
  header.channel = static_cast<uint64_t>(lease.tag().channel);
  header.step = lease.tag().step;
  header.block = lease.tag().block;
  header.message_bytes = lease.bytes();
  header.offset = offset_;
  header.chunk_bytes = std::min(chunk_bytes_, lease.bytes() - offset_);
  header.checksum = ChunkChecksum(lease.data() + offset_, header.chunk_bytes);
  const grpc::ByteBuffer frame = EncodeChunk(header, lease.Slice(offset_, header.chunk_bytes));
  offset_ += header.chunk_bytes;
  in_message_ = true;
  writing_ = true;
  ++operations_;
  call_->Write(frame, &write_event_);
}

void OutStream::OnWritten(bool ok) {
  --operations_;
  writing_ = false;
  write_failed_ |= !ok;  // Read and then Finish say why
  if (!ok || finishing_ || half_closed_) return MaybeGone();
  if (in_message_ && offset_ == messages_.front()->bytes()) {
    Lease* lease = messages_.front();
    messages_.pop_front();
    offset_ = 0;
    in_message_ = false;
    lease->Finish(absl::OkStatus());
  }
  WriteNext();
}

void OutStream::OnRead(bool ok) {
  --operations_;
  gossipgrad::v1::StreamClosed closed;
  if (ok) {
    grpc::ProtoBufferReader reader(&read_buffer_);
    if (closed.ParseFromZeroCopyStream(&reader)) {
      refusal_ =
          absl::UnavailableError(absl::StrCat("the peer closed the stream: ", closed.reason()));
    }
  }
  FinishCall();
}

void OutStream::FinishCall() {
  if (std::exchange(finishing_, true)) return;
  ++operations_;
  call_->Finish(&final_status_, &finish_event_);
}

void OutStream::OnFinished(bool) {
  --operations_;
  finished_ = true;
  absl::Status why = refusal_;
  if (why.ok()) {
    why = absl::UnavailableError(absl::StrCat(
        "the connection (", target(), ") broke: ",
        final_status_.ok() ? "the peer ended the stream" : final_status_.error_message()));
  }
  why = Annotate(why, peer_);
  FailMessages(why);
  socket_.Shutdown();
  if (!detached_) events_.broken(why);
  MaybeGone();
}

void OutStream::FailMessages(const absl::Status& why) {
  for (Lease* lease : std::exchange(messages_, {})) {
    lease->Finish(Annotate(why, absl::StrCat("Send of ", DescribeTag(lease->tag()))));
  }
  offset_ = 0;
  in_message_ = false;
}

void OutStream::Detach(const absl::Status& why) {
  detached_ = true;
  const bool cut = in_message_;
  FailMessages(why);
  if (cut || !started_) return Abort();
  CloseWhenIdle();
}

void OutStream::CloseWhenIdle() {
  if (!detached_ || writing_ || half_closed_ || write_failed_ || finishing_) return;
  half_closed_ = true;
  writing_ = true;
  ++operations_;
  call_->WritesDone(&write_event_);
}

void OutStream::Abort() {
  context_.TryCancel();
  socket_.Shutdown();
}

void OutStream::MaybeGone() {
  if (finished_ && operations_ == 0) events_.gone(this);
}

}  // namespace gg
