// SPDX-License-Identifier: Apache-2.0
//
// The version of the protocol between the daemons. Grows only with a change that an older peer
// cannot ignore; both sides of a connection must have the same number and say both numbers when
// they differ. Thread-safety: a constant.
#ifndef GOSSIPGRAD_PROTO_CODEC_VERSION_H_
#define GOSSIPGRAD_PROTO_CODEC_VERSION_H_

#include <cstdint>

namespace gg {

inline constexpr uint32_t kProtocolVersion = 1;

// Trailing metadata of an INVALID_ARGUMENT answer: a serialized gossipgrad.v1.FieldViolations.
inline constexpr char kViolationsKey[] = "gossipgrad-violations-bin";

}  // namespace gg

#endif  // GOSSIPGRAD_PROTO_CODEC_VERSION_H_
