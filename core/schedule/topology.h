// SPDX-License-Identifier: Apache-2.0
//
// The part in which most schedules differ: who is whose partner among positions 0 .. size-1 at stage
// k of a round. Rotation, ranks and steps are added by RotatedSchedule. To add a topology: one file
// with a `const Topology`, a declaration here, a line in registry.cc and a sheet in
// docs/algorithms; the property suite (tests/conformance/schedule) runs by itself.
//
// Thread-safety: constants.
#ifndef GOSSIPGRAD_CORE_SCHEDULE_TOPOLOGY_H_
#define GOSSIPGRAD_CORE_SCHEDULE_TOPOLOGY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gg {

struct Topology {
  absl::string_view name;
  // Whether `size` (>= 1) can be served; kInvalidArgument says which sizes can.
  absl::Status (*check)(int size);
  // Steps of a round (PartnerSchedule::round_length), and stages that differ in it; sizes >= 2.
  int (*round_length)(int size);
  int (*stages)(int size);
  // The position that `position` sends to, and the one it receives from, at stage k of a round of
  // size >= 2. For fixed k and size the two are inverse permutations without fixed points.
  int (*send_to)(int position, int k, int size);
  int (*recv_from)(int position, int k, int size);
};

extern const Topology kDissemination;
extern const Topology kExponential;
extern const Topology kHypercube;
extern const Topology kRing;

// For the tables.
absl::Status AnySize(int size);
int CeilLog2(int size);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SCHEDULE_TOPOLOGY_H_
