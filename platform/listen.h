// SPDX-License-Identifier: Apache-2.0
//
// What every daemon demands of an address that it is to listen on.
// Thread-safety: a pure function.
#ifndef GOSSIPGRAD_PLATFORM_LISTEN_H_
#define GOSSIPGRAD_PLATFORM_LISTEN_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gg {

// kInvalidArgument, naming `flag`: `address` is not host:port (port 0 .. 65535), or can be reached
// from other machines although nobody has said --insecure.
absl::Status CheckListenAddress(absl::string_view flag, absl::string_view address, bool insecure);

}  // namespace gg

#endif  // GOSSIPGRAD_PLATFORM_LISTEN_H_
