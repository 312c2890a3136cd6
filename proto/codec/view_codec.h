// SPDX-License-Identifier: Apache-2.0
//
// View (core/ids.h) and absolute times on the wire and back.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_PROTO_CODEC_VIEW_CODEC_H_
#define GOSSIPGRAD_PROTO_CODEC_VIEW_CODEC_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/ids.h"
#include "google/protobuf/timestamp.pb.h"
#include "gossipgrad/v1/worker_control.pb.h"

namespace gg {

gossipgrad::v1::View ToProto(const View& view);

// kInvalidArgument: no members, a member without an id, or an id twice.
absl::StatusOr<View> FromProto(const gossipgrad::v1::View& proto);

// Infinite times become the ends of the range of google.protobuf.Timestamp (years 1 and 9999).
google::protobuf::Timestamp ToProto(absl::Time time);
absl::Time FromProto(const google::protobuf::Timestamp& proto);

}  // namespace gg

#endif  // GOSSIPGRAD_PROTO_CODEC_VIEW_CODEC_H_
