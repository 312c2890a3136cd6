// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/out_link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

// Between looks at a connection that is being made. Local ones stand at once; a remote one is made
// once per view.
constexpr absl::Duration kConnectPoll = absl::Milliseconds(1);
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(20), kLastBackoff = absl::Seconds(1);

}  // namespace

void OutStreamSet::Remove(Loop* loop, OutStream* stream) {
  const auto it = std::find_if(streams_.begin(), streams_.end(),
                               [&](const auto& owned) { return owned.get() == stream; });
  // Not here: the stream is still in the middle of the event that was its last.
  loop->Post([node = std::make_shared<std::unique_ptr<OutStream>>(
                  std::move(streams_.extract(it).value()))] {});
}

void OutStreamSet::AbortAll() {
  for (const auto& stream : streams_) stream->Abort();
}

OutLink::OutLink(CqLoop* loop, OutStreamSet* streams, Options options,
                 absl::AnyInvocable<void(const absl::Status&)> down)
    : loop_(loop), streams_(streams), options_(std::move(options)), down_(std::move(down)) {}

OutLink::~OutLink() = default;

void OutLink::Send(OutgoingMessage message) {
  if (stream_ != nullptr) return stream_->Send(std::move(message));
  waiting_.push_back(std::move(message));
  if (!dialing_) Dial();
}

void OutLink::Dial() {
  if (!options_.targets.ok()) return FailWaiting(options_.targets.status());
  if (loop_->Now() < retry_at_) return FailWaiting(last_error_);
  dialing_ = true;
  target_ = 0;
  give_up_ = loop_->Now() + options_.connect_timeout;
  // A failed attempt doubles it; a connection that stood once starts afresh.
  if (backoff_ == absl::ZeroDuration()) backoff_ = kFirstBackoff;
  Attempt();
}

void OutLink::Attempt() {
  absl::StatusOr<Socket> socket = Socket::Dial((*options_.targets)[target_]);
  if (!socket.ok()) return AttemptFailed(socket.status());
  socket_.emplace(*std::move(socket));
  PollConnect();
}

void OutLink::PollConnect() {
  const absl::StatusOr<bool> connected = socket_->Connected();
  if (!connected.ok()) return AttemptFailed(connected.status());
  if (*connected) return Connected();
  if (loop_->Now() >= give_up_) {
    return AttemptFailed(
        absl::UnavailableError(absl::StrCat("no answer from ", socket_->target(), " within ",
                                            absl::FormatDuration(options_.connect_timeout))));
  }
  Schedule(kConnectPoll, &OutLink::PollConnect);
}

void OutLink::AttemptFailed(const absl::Status& why) {
  socket_.reset();
  if (++target_ < options_.targets->size()) return Attempt();
  target_ = 0;
  const absl::Time now = loop_->Now();
  const absl::Duration pause = std::exchange(backoff_, std::min(2 * backoff_, kLastBackoff));
  // A peer that has not been seen yet may be about to start; one that was there is gone.
  if (!was_connected_ && now + pause < give_up_) return Schedule(pause, &OutLink::Attempt);
  retry_at_ = now + pause;
  Down(Annotate(why, absl::StrCat("cannot reach ", options_.peer_name)));
}

void OutLink::Connected() {
  dialing_ = false;
  auto stream = std::make_unique<OutStream>(
      loop_, options_.peer_name, std::move(*std::exchange(socket_, std::nullopt)), options_.hello,
      options_.chunk_bytes,
      OutStream::Events{.broken =
                            [this](const absl::Status& why) {
                              stream_ = nullptr;
                              Down(why);
                            },
                        .gone = [loop = loop_, streams = streams_](
                                    OutStream* gone) { streams->Remove(loop, gone); }});
  if (absl::Status status = stream->Start(); !status.ok()) return AttemptFailed(status);
  was_connected_ = true;
  backoff_ = absl::ZeroDuration();
  stream_ = stream.get();
  streams_->Add(std::move(stream));
  for (OutgoingMessage& message : std::exchange(waiting_, {})) stream_->Send(std::move(message));
}

void OutLink::Down(const absl::Status& why) {
  last_error_ = why;
  FailWaiting(why);
  down_(why);
}

void OutLink::FailWaiting(const absl::Status& why) {
  StopDialing();
  for (OutgoingMessage& message : std::exchange(waiting_, {})) {
    message.done(Annotate(why, absl::StrCat("Send of ", DescribeTag(message.tag))));
  }
}

void OutLink::StopDialing() {
  dialing_ = false;
  socket_.reset();
  if (timer_) loop_->CancelTimer(*std::exchange(timer_, std::nullopt));
}

void OutLink::Reset(const absl::Status& why) {
  if (stream_ == nullptr) return;  // what is being dialled now is newer than the loss
  last_error_ = why;
  OutStream* stream = std::exchange(stream_, nullptr);
  stream->Detach(why);
  stream->Abort();
}

void OutLink::Close(const absl::Status& why) {
  FailWaiting(why);
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->Detach(why);
}

void OutLink::Schedule(absl::Duration delay, void (OutLink::*next)()) {
  timer_ = loop_->After(delay, [this, next] {
    timer_.reset();
    (this->*next)();
  });
}

std::string OutLink::Describe() const {
  if (stream_ != nullptr) return absl::StrCat("grpc over ", stream_->target(), ", connected");
  if (!options_.targets.ok()) return absl::StrCat("grpc, ", options_.targets.status().message());
  const std::string path = absl::StrCat("grpc over ", options_.targets->front().text);
  if (dialing_) return absl::StrCat(path, ", connecting");
  if (!last_error_.ok()) return absl::StrCat(path, ", not connected: ", last_error_.message());
  return path;  // kept by readers for longer than "not used yet" is true
}

}  // namespace gg
