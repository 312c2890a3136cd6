// SPDX-License-Identifier: Apache-2.0
//
// The device of plain loops: the truth that the others are compared with, and what trains where
// nothing else is built. One thread. Thread-safety: see kernels/device.h.
#ifndef GOSSIPGRAD_KERNELS_REFERENCE_REFERENCE_DEVICE_H_
#define GOSSIPGRAD_KERNELS_REFERENCE_REFERENCE_DEVICE_H_

#include <memory>

#include "kernels/device.h"

namespace gg {

std::unique_ptr<Device> MakeReferenceDevice();

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_REFERENCE_REFERENCE_DEVICE_H_
