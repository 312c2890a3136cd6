// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/grpc_wire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {

GrpcWire::GrpcWire(CqLoop* loop, OutStreamSet* streams, WireHost* host, GroupState* group,
                   Options options)
    : host_(host), group_(group), links_(group->view.size()), streams_(group->view.size()) {
  for (Rank peer = 0; peer < group->view.size(); ++peer) {
    if (peer == group->self) continue;
    gossipgrad::v1::Hello hello;
    hello.set_protocol_version(kPeerProtocolVersion);
    hello.set_job_id(group->job_id);
    hello.set_view(group->view.number);
    hello.set_from_rank(group->self);
    hello.set_to_rank(peer);
    hello.set_worker_id(group->view.members[group->self].worker_id);
    links_[peer] =
        std::make_unique<OutLink>(loop, streams,
                                  OutLink::Options{.peer_name = group->PeerName(peer),
                                                   .targets = std::move(options.targets[peer]),
                                                   .hello = std::move(hello),
                                                   .connect_timeout = options.connect_timeout,
                                                   .chunk_bytes = options.chunk_bytes},
                                  [this, peer](const absl::Status& why) { LinkDown(peer, why); });
  }
}

void GrpcWire::Open() {
  host_->Opened(this);
}

void GrpcWire::Send(Rank to, OutgoingMessage message) {
  links_[to]->Send(std::move(message));
}

void GrpcWire::Resume(Rank from) {
  if (streams_[from] != nullptr) streams_[from]->Resume();
}

void GrpcWire::Close(Loop::Task closed) {
  host_->Closed(this);
  const std::string left = absl::StrCat(group_->PeerName(group_->self), " has left view ",
                                        group_->view.number, " of job ", group_->job_id);
  for (Rank peer = 0; peer < group_->view.size(); ++peer) {
    if (peer == group_->self) continue;
    links_[peer]->Close(absl::CancelledError("the group was closed"));
    if (InStream* stream = std::exchange(streams_[peer], nullptr); stream != nullptr) {
      stream->Close(absl::StatusCode::kUnavailable, left);
    }
  }
  closed();
}

std::string GrpcWire::Describe(Rank peer) const {
  return links_[peer]->Describe();
}

void GrpcWire::Bind(InStream* stream, Rank peer) {
  if (InStream* old = std::exchange(streams_[peer], stream); old != nullptr) {
    old->Close(absl::StatusCode::kAborted, "a newer stream of the same peer has replaced this one");
    const absl::Status why =
        absl::UnavailableError(absl::StrCat(group_->PeerName(peer), " began its stream anew"));
    links_[peer]->Reset(why);
    group_->from[peer]->SetLost(why);
  }
  group_->from[peer]->SetPresent();
}

void GrpcWire::Unbind(InStream* stream, Rank peer, const absl::Status& why) {
  if (streams_[peer] != stream) return;
  streams_[peer] = nullptr;
  const absl::Status lost = Annotate(why, absl::StrCat("lost ", group_->PeerName(peer)));
  links_[peer]->Reset(lost);
  group_->from[peer]->SetLost(lost);
}

void GrpcWire::LinkDown(Rank peer, const absl::Status& why) {
  if (streams_[peer] == nullptr) group_->from[peer]->SetLost(why);
}

}  // namespace gg
