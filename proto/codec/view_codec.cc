// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/view_codec.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

constexpr int64_t kFirstSecond = -62135596800;  // 0001-01-01T00:00:00Z
constexpr int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z

}  // namespace

gossipgrad::v1::View ToProto(const View& view) {
  gossipgrad::v1::View proto;
  proto.set_number(view.number);
  for (const Member& member : view.members) {
    auto* out = proto.add_members();
    out->set_worker_id(member.worker_id);
    out->set_address(member.address);
    out->mutable_topology()->insert(member.topology.begin(), member.topology.end());
  }
  return proto;
}

absl::StatusOr<View> FromProto(const gossipgrad::v1::View& proto) {
  if (proto.members_size() == 0) return absl::InvalidArgumentError("view without members");
  View view;
  view.number = proto.number();
  std::set<std::string> seen;
  for (const auto& member : proto.members()) {
    if (member.worker_id().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("view ", proto.number(),
                                                     ": the member of rank ", view.members.size(),
                                                     " has no worker_id"));
    }
    if (!seen.insert(member.worker_id()).second) {
      return absl::InvalidArgumentError(absl::StrCat("view ", proto.number(), ": worker ",
                                                     member.worker_id(), " is a member twice"));
    }
    view.members.push_back({member.worker_id(),
                            member.address(),
                            {member.topology().begin(), member.topology().end()}});
  }
  return view;
}

google::protobuf::Timestamp ToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  const int64_t seconds = absl::ToUnixSeconds(time);  // rounds down, saturates
  proto.set_seconds(std::clamp(seconds, kFirstSecond, kLastSecond));
  if (seconds >= kFirstSecond && seconds <= kLastSecond) {
    proto.set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  }
  return proto;
}

absl::Time FromProto(const google::protobuf::Timestamp& proto) {
  return absl::FromUnixSeconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

}  // namespace gg
