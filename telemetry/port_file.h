// SPDX-License-Identifier: Apache-2.0
//
// The file in which a daemon tells its addresses, chosen by the kernel, to whoever started it:
//   {"http":"127.0.0.1:40123","transport":"...","pid":4711}
// Thread-safety: pure function on the file system.
#ifndef GOSSIPGRAD_TELEMETRY_PORT_FILE_H_
#define GOSSIPGRAD_TELEMETRY_PORT_FILE_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gg {

// Writes `addresses` (name, address) and the process id. Whoever sees the file sees all of it: it
// is written beside and renamed. kUnavailable: cannot be written, with path and reason.
absl::Status WritePortFile(
    const std::string& path,
    std::initializer_list<std::pair<absl::string_view, std::string>> addresses);

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_PORT_FILE_H_
