// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/grpc_transport.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/status.h"
#include "worker/transport/grpc/address.h"
#include "worker/transport/grpc/channel_args.h"
#include "worker/transport/grpc/cq_loop.h"
#include "worker/transport/grpc/grpc_wire.h"
#include "worker/transport/grpc/listen.h"

namespace gg {
namespace {

// How long a transport that is destroyed waits for peers to read what groups sent before they were
// closed.
constexpr absl::Duration kLinger = absl::Seconds(2);

class GrpcTransport final : public Transport, public InStreamHost, public WireHost {
 public:
  GrpcTransport(const GrpcTransportOptions& options, std::unique_ptr<Listener> listener)
      : options_(options),
        host_id_(LocalHostId()),
        listener_(std::move(listener)),
        loop_(listener_->TakeQueue()) {
    loop_.RunSync([this] { RequestCall(); });
  }

  ~GrpcTransport() override {
    AwaitGone(kLinger, [this] { return out_.empty(); });
    loop_.RunSync([this] { out_.AbortAll(); });
    listener_->Shutdown();
    AwaitGone(absl::InfiniteDuration(), [this] { return out_.empty() && in_.empty(); });
  }

  absl::string_view name() const override { return "grpc"; }
  std::string local_address() const override { return listener_->address().ToString(); }

  absl::StatusOr<std::unique_ptr<PeerGroup>> Join(absl::string_view job_id, const View& view,
                                                  Rank self) override {
    GG_RETURN_IF_ERROR(CheckJoin(view, self, local_address()));
    bool open = false;
    loop_.RunSync([&] { open = groups_.Contains(job_id, view.number); });
    if (open) return AlreadyJoined(job_id, view);
    GrpcWire::Options wire_options{.targets = {},
                                   .connect_timeout = options_.connect_timeout,
                                   .chunk_bytes = options_.base.chunk_bytes};
    for (const Member& member : view.members) {
      absl::StatusOr<GrpcAddress> address = ParseGrpcAddress(member.address);
      GG_RETURN_IF_ERROR(Annotate(address.status(), absl::StrCat("worker ", member.worker_id)));
      if (!options_.same_host_unix_socket) address->unix_name.clear();
      // A name that nobody knows now ends the Sends to that member, not the view.
      wire_options.targets.push_back(ResolveTargets(*address, host_id_));
    }
    auto state = std::make_unique<GroupState>(job_id, view, self, options_.base);
    auto wire =
        std::make_unique<GrpcWire>(&loop_, &out_, this, state.get(), std::move(wire_options));
    return std::make_unique<Group>(&loop_, std::move(state), std::move(wire));
  }

  // WireHost
  void Opened(GrpcWire* wire) override {
    groups_.Add(wire->group());
    wires_.push_back(wire);
    // Streams that were early find their view now; Resume may end some of them.
    std::vector<InStream*> streams;
    for (const auto& stream : in_) streams.push_back(stream.get());
    for (InStream* stream : streams) stream->Resume();
  }
  void Closed(GrpcWire* wire) override {
    groups_.Remove(wire->group());
    std::erase(wires_, wire);
  }

  // InStreamHost
  CqLoop* loop() override { return &loop_; }
  grpc::AsyncGenericService* service() override { return listener_->service(); }
  absl::Duration join_grace() const override { return options_.base.join_grace; }
  void Accepted() override { RequestCall(); }
  void CountStale(absl::string_view job_id) override { groups_.CountStale(job_id); }

  absl::StatusOr<InStreamOwner*> Find(const gossipgrad::v1::Hello& hello) override {
    GroupState* group = nullptr;
    switch (groups_.Find(hello.job_id(), hello.view(), &group)) {
      case GroupTable::Verdict::kNotYet:
        return absl::UnavailableError("not joined yet");
      case GroupTable::Verdict::kGone:
        return absl::FailedPreconditionError(absl::StrCat(
            "this worker is not in view ", hello.view(), " of job ", hello.job_id(), " any more"));
      case GroupTable::Verdict::kOpen:
        break;
    }
    const Rank peer = hello.from_rank();
    if (hello.to_rank() != group->self || peer < 0 || peer >= group->view.size() ||
        peer == group->self || group->view.members[peer].worker_id != hello.worker_id()) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", peer, " (", hello.worker_id(), ") to rank ", hello.to_rank(),
                       " is no pair of view ", hello.view(), " at rank ", group->self));
    }
    const auto wire = std::find_if(wires_.begin(), wires_.end(),
                                   [&](GrpcWire* w) { return w->group() == group; });
    return *wire;
  }

  void Gone(InStream* stream) override {
    const auto it = std::find_if(in_.begin(), in_.end(),
                                 [&](const auto& owned) { return owned.get() == stream; });
    // Not here: the stream is still in the middle of the event that was its last.
    loop_.Post([gone = std::shared_ptr<InStream>(std::move(in_.extract(it).value()))] {});
  }

 private:
  void RequestCall() {
    const auto [it, inserted] = in_.insert(std::make_unique<InStream>(this));
    (*it)->Accept();
  }

  // Until `gone()`, asked on the loop's thread, or the patience ends.
  void AwaitGone(absl::Duration patience, absl::FunctionRef<bool()> gone) {
    const absl::Time deadline = RealClock().Now() + patience;
    Monitor monitor;
    for (;;) {
      bool over = false;
      loop_.RunSync([&] { over = gone(); });
      if (over || RealClock().Now() >= deadline) return;
      MutexLock lock(&monitor.mu);
      monitor.changed.WaitFor(&monitor.mu, std::chrono::milliseconds(2));
    }
  }

  const GrpcTransportOptions options_;
  const std::string host_id_;
  const std::unique_ptr<Listener> listener_;
  // The loop's thread only, from here to the loop itself.
  GroupTable groups_;
  std::vector<GrpcWire*> wires_;
  OutStreamSet out_;
  std::set<std::unique_ptr<InStream>, std::less<>> in_;
  CqLoop loop_;  // last: its thread ends before the rest goes
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(const GrpcTransportOptions& options) {
  GG_ASSIGN_OR_RETURN(
      std::unique_ptr<Listener> listener,
      Listener::Make(options.listen, options.advertise_host, options.same_host_unix_socket));
  return std::make_unique<GrpcTransport>(options, std::move(listener));
}

}  // namespace gg
