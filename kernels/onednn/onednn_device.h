// SPDX-License-Identifier: Apache-2.0
//
// The CPU device on oneDNN: prepared primitives, memory planned once, blocked layouts inside where
// they pay. oneDNN computes with GNU OpenMP. Every call sets the number of threads of the calling
// thread to DeviceOptions.threads; with one thread no parallel region is ever entered. Where more
// workers than cores share a machine, the process should be started with OMP_WAIT_POLICY=passive:
// pools that spin against each other cost many times the work itself. Thread-safety: see
// kernels/device.h.
#ifndef GOSSIPGRAD_KERNELS_ONEDNN_ONEDNN_DEVICE_H_
#define GOSSIPGRAD_KERNELS_ONEDNN_ONEDNN_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device.h"

namespace gg {

// kUnavailable: the library refuses to work on this machine; says why.
absl::StatusOr<std::unique_ptr<Device>> MakeOneDnnDevice(const DeviceOptions& options);

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_ONEDNN_ONEDNN_DEVICE_H_
