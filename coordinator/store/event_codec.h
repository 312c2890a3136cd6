// SPDX-License-Identifier: Apache-2.0
//
// Durable events as bytes and back, and the messages that both the store and the API use: JobResult
// and EpochPoint. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_COORDINATOR_STORE_EVENT_CODEC_H_
#define GOSSIPGRAD_COORDINATOR_STORE_EVENT_CODEC_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/state/event.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

inline constexpr uint32_t kStoredEventVersion = 1;

// kInvalidArgument: a volatile event.
absl::StatusOr<std::string> EncodeEvent(const Event& event);
// kDataLoss: not an event. kFailedPrecondition: an event of a newer version.
absl::StatusOr<Event> DecodeEvent(absl::string_view bytes);

gossipgrad::v1::EpochPoint ToProto(const EpochPoint& point);
gossipgrad::v1::JobResult ToProto(const JobResult& result);
JobResult FromProto(const gossipgrad::v1::JobResult& proto);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STORE_EVENT_CODEC_H_
