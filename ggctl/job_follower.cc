// SPDX-License-Identifier: Apache-2.0
#include "ggctl/job_follower.h"

#include <grpcpp/grpcpp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/status.h"
#include "ggctl/exit_code.h"

namespace gg {

namespace v1 = gossipgrad::v1;

JobFollower::JobFollower(JobClient* client, std::string name)
    : client_(client), name_(std::move(name)), event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { Run(); });
}

JobFollower::~JobFollower() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  thread_.join();
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

void JobFollower::Publish(std::optional<v1::Job> job, bool ended, const absl::Status& status) {
  {
    MutexLock lock(&mu_);
    if (job.has_value()) pending_.job = std::move(job);
    pending_.ended = ended;
    pending_.status = status;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = write(event_fd_, &one, sizeof one);
}

void JobFollower::Run() {
  absl::Time give_up = absl::Now() + client_->timeout();
  while (!closing()) {
    bool got_any = false, final = false;
    absl::Status status = WatchOnce(&got_any, &final);
    if (final) return Publish(std::nullopt, true, absl::OkStatus());
    if (got_any) give_up = absl::Now() + client_->timeout();
    const bool again = status.ok() ? got_any : absl::IsUnavailable(status);
    if (!again || absl::Now() >= give_up) {
      if (status.ok())
        status = absl::UnavailableError("the coordinator ended the watch before the job was over");
      return Publish(std::nullopt, true, status);
    }
  }
}

absl::Status JobFollower::WatchOnce(bool* got_any, bool* final) {
  grpc::ClientContext context;
  {
    MutexLock lock(&mu_);
    if (closing_) return absl::CancelledError("closed");
    context_ = &context;
  }
  // A watch has no deadline of its own; this call, which waits a little for a connection, settles
  // whether somebody is there, and paces the attempts.
  absl::StatusOr<v1::Job> job = client_->Get(name_);
  absl::Status status = job.status();
  if (status.ok()) {
    v1::WatchJobRequest request;
    request.set_name(name_);
    const auto reader = client_->stub().WatchJob(&context, request);
    v1::WatchJobResponse response;
    while (reader->Read(&response)) {
      *got_any = true;
      *final = IsFinal(response.job().state());
      Publish(std::move(*response.mutable_job()), false, absl::OkStatus());
    }
    status = FromGrpc(reader->Finish(), context, client_->server());
  }
  MutexLock lock(&mu_);
  context_ = nullptr;
  return status;
}

}  // namespace gg
