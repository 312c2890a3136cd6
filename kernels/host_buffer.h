// SPDX-License-Identifier: Apache-2.0
//
// Host memory for CPU devices: zeroed, so every page is touched before the first step, and on huge
// pages from 1 MiB on, because the first touch of a small page can cost more than the arithmetic on
// it. Thread-safety: thread-safe. Errors: kResourceExhausted when the memory is not there.
#ifndef GOSSIPGRAD_KERNELS_HOST_BUFFER_H_
#define GOSSIPGRAD_KERNELS_HOST_BUFFER_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/device.h"

namespace gg {

absl::StatusOr<std::unique_ptr<Buffer>> AllocateHost(size_t bytes);

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_HOST_BUFFER_H_
