// SPDX-License-Identifier: Apache-2.0
#include "ggctl/job_follower.h"

#include <grpcpp/grpcpp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/status.h"
#include "ggctl/exit_code.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

// With no news for this long the coordinator is asked for a sign of life.
constexpr absl::Duration kQuiet = absl::Seconds(1);
constexpr absl::Duration kProbeTimeout = absl::Milliseconds(1500);
constexpr absl::Duration kProbePause = absl::Milliseconds(500);
// A stream on which nothing came while no probe was answered for this long is given up.
constexpr absl::Duration kCutAfter = absl::Seconds(3);

}  // namespace

JobFollower::JobFollower(const JobClient* client, std::string name)
    : client_(client->server(), client->timeout()),
      name_(std::move(name)),
      event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { Run(); });
  prober_ = std::thread([this] { Probe(); });
}

JobFollower::~JobFollower() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
    changed_.NotifyAll();
  }
  client_.Shutdown();
  thread_.join();
  prober_.join();
  if (event_fd_ >= 0) close(event_fd_);
}

bool JobFollower::closing() const {
  MutexLock lock(&mu_);
  return closing_;
}

JobFollower::Update JobFollower::Take() {
  uint64_t count = 0;
  // Nothing to read is fine: the loop may look without having been woken.
  [[maybe_unused]] const ssize_t got = read(event_fd_, &count, sizeof count);
  MutexLock lock(&mu_);
  Update update = pending_;
  pending_.job.reset();
  return update;
}

void JobFollower::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = write(event_fd_, &one, sizeof one);
}

void JobFollower::Heard() {
  ++heard_;
  pending_.silent = absl::ZeroDuration();
}

void JobFollower::Publish(std::optional<v1::Job> job, bool ended, const absl::Status& status) {
  {
    MutexLock lock(&mu_);
    if (job.has_value()) {
      pending_.job = std::move(job);
      Heard();
    }
    pending_.ended = ended;
    pending_.status = status;
    if (ended) changed_.NotifyAll();
  }
  Wake();
}

void JobFollower::Run() {
  absl::Time give_up = absl::Now() + client_.timeout();
  while (!closing()) {
    bool got_any = false, final = false;
    absl::Status status = WatchOnce(&got_any, &final);
    if (final) return Publish(std::nullopt, true, absl::OkStatus());
    if (got_any) give_up = absl::Now() + client_.timeout();
    // A coordinator that shuts down cancels its streams.
    const bool again = status.ok()
                           ? got_any
                           : absl::IsUnavailable(status) || (got_any && absl::IsCancelled(status));
    if (!again || absl::Now() >= give_up) {
      if (status.ok())
        status = absl::UnavailableError("the coordinator ended the watch before the job was over");
      return Publish(std::nullopt, true, status);
    }
  }
}

absl::Status JobFollower::WatchOnce(bool* got_any, bool* final) {
  // A watch has no deadline of its own; this call, which waits a little for a connection, settles
  // whether somebody is there, and paces the attempts.
  GG_RETURN_IF_ERROR(client_.Get(name_).status());
  grpc::ClientContext context;
  const JobClient::RunningCall running(&client_, &context);
  if (!running.started()) return absl::CancelledError("closed");
  {
    MutexLock lock(&mu_);
    Heard();
    cut_ = false;
    stream_ = &context;
  }
  v1::WatchJobRequest request;
  request.set_name(name_);
  const auto reader = client_.stub().WatchJob(&context, request);
  v1::WatchJobResponse response;
  while (reader->Read(&response)) {
    *got_any = true;
    *final = IsFinal(response.job().state());
    Publish(std::move(*response.mutable_job()), false, absl::OkStatus());
  }
  absl::Status status = FromGrpc(reader->Finish(), context, client_.server());
  MutexLock lock(&mu_);
  stream_ = nullptr;
  if (cut_ && !*final)
    return absl::UnavailableError(
        absl::StrCat("the coordinator at ", client_.server(), " does not answer"));
  return status;
}

void JobFollower::Probe() {
  uint64_t before = 0;
  while (true) {
    {
      MutexLock lock(&mu_);
      const bool quiet = pending_.silent == absl::ZeroDuration();
      const absl::Time wake = absl::Now() + (quiet ? kQuiet : kProbePause);
      while (!closing_ && !pending_.ended && absl::Now() < wake)
        changed_.WaitFor(&mu_, absl::ToChronoNanoseconds(wake - absl::Now()));
      if (closing_ || pending_.ended) return;
      const bool news = heard_ != before;
      before = heard_;
      if (news) continue;
    }
    ProbeOnce();
  }
}

void JobFollower::ProbeOnce() {
  const absl::Time begin = absl::Now();
  grpc::ClientContext context;
  const JobClient::RunningCall running(&client_, &context);
  if (!running.started()) return;
  context.set_deadline(absl::ToChronoTime(begin + kProbeTimeout));
  v1::GetServerInfoResponse response;
  const grpc::StatusCode code =
      client_.stub().GetServerInfo(&context, v1::GetServerInfoRequest(), &response).error_code();
  {
    MutexLock lock(&mu_);
    // Any answer is a sign of life; a lost connection ends the stream by itself.
    if (code != grpc::StatusCode::DEADLINE_EXCEEDED) {
      if (code != grpc::StatusCode::UNAVAILABLE && code != grpc::StatusCode::CANCELLED) Heard();
    } else {
      // Counted by what a probe may take at most: when this process itself was stopped, the time
      // says nothing about the coordinator.
      pending_.silent += std::min(absl::Now() - begin, kProbeTimeout) + kProbePause;
      if (pending_.silent >= kCutAfter && stream_ != nullptr) {
        cut_ = true;
        stream_->TryCancel();
      }
    }
  }
  Wake();
}

}  // namespace gg
