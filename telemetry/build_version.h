// SPDX-License-Identifier: Apache-2.0
//
// What this build is, for --version, /metrics and the control protocol.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_TELEMETRY_BUILD_VERSION_H_
#define GOSSIPGRAD_TELEMETRY_BUILD_VERSION_H_

#include "absl/strings/string_view.h"

namespace gg {

absl::string_view SoftwareVersion();  // "0.1.0"
absl::string_view CompilerVersion();  // "GNU 12.2.0"

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_BUILD_VERSION_H_
