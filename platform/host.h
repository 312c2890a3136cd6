// SPDX-License-Identifier: Apache-2.0
//
// Which machine this is.
// Thread-safety: pure reads of the system.
#ifndef GOSSIPGRAD_PLATFORM_HOST_H_
#define GOSSIPGRAD_PLATFORM_HOST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gg {

// As gethostname() says; "unknown" when it cannot.
std::string HostName();

// The kernel's id of this boot of this machine: equal in two processes exactly when they run on the
// same kernel. "" when it cannot be read.
std::string BootId();

// The folder that holds this process's executable, without a trailing slash; "" when it cannot be
// read.
std::string ExecutableFolder();

struct HostPort {
  std::string host;  // an IPv6 address without its brackets
  int port = 0;
};

// "host:port", port 0 .. 65535, an IPv6 address in brackets. kInvalidArgument: not of that form.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

// Whether `listen` (as for ParseHostPort) can be reached from this machine only: localhost, [::1] or
// a numeric address of 127.0.0.0/8. kInvalidArgument: not of that form.
absl::StatusOr<bool> IsLoopback(absl::string_view listen);

// For names that must differ from those of every other process and start; nothing that a job
// computes depends on them.
uint64_t UniqueBits();

}  // namespace gg

#endif  // GOSSIPGRAD_PLATFORM_HOST_H_
