// SPDX-License-Identifier: Apache-2.0
//
// Which machine this is.
// Thread-safety: pure reads of the system.
#ifndef GOSSIPGRAD_PLATFORM_HOST_H_
#define GOSSIPGRAD_PLATFORM_HOST_H_

#include <string>

namespace gg {

// As gethostname() says; "unknown" when it cannot.
std::string HostName();

// The kernel's id of this boot of this machine: equal in two processes exactly when they run on the
// same kernel. "" when it cannot be read.
std::string BootId();

// The folder that holds this process's executable, without a trailing slash; "" when it cannot be
// read.
std::string ExecutableFolder();

}  // namespace gg

#endif  // GOSSIPGRAD_PLATFORM_HOST_H_
