// SPDX-License-Identifier: Apache-2.0
//
// Where a daemon that was started on port 0 tells what it got:
//   {"grpc":"127.0.0.1:40001","http":"127.0.0.1:40002","pid":4711}
// Thread-safety: pure functions on the file system.
#ifndef GOSSIPGRAD_COORDINATOR_DAEMON_PORT_FILE_H_
#define GOSSIPGRAD_COORDINATOR_DAEMON_PORT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace gg {

// Whoever sees the file sees all of it: it is written beside and renamed. Errors name the path and
// the reason.
absl::Status WritePortFile(const std::string& path, const std::string& grpc_address,
                           const std::string& http_address);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_DAEMON_PORT_FILE_H_
