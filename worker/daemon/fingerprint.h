// SPDX-License-Identifier: Apache-2.0
//
// Numbers that workers compare before they train together: different data, another build's network
// or another schedule would otherwise be noticed hours later, or never. Thread-safety: pure
// functions.
#ifndef GOSSIPGRAD_WORKER_DAEMON_FINGERPRINT_H_
#define GOSSIPGRAD_WORKER_DAEMON_FINGERPRINT_H_

#include <cstdint>

#include "worker/data/dataset.h"
#include "worker/nn/param_arena.h"

namespace gg {

// Sizes, shape, labels and pixels of both splits.
uint64_t DataFingerprint(const Dataset& train, const Dataset& test);

// Names, shapes and places of all tensors, and the weights as they are.
uint64_t ModelFingerprint(ParamArena& arena);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DAEMON_FINGERPRINT_H_
