// SPDX-License-Identifier: Apache-2.0
#include "platform/listen.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "platform/host.h"

namespace gg {

absl::Status CheckListenAddress(absl::string_view flag, absl::string_view address, bool insecure) {
  const absl::StatusOr<bool> loopback = IsLoopback(address);
  if (!loopback.ok()) return Annotate(loopback.status(), flag);
  if (insecure || *loopback) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " ", address,
      " can be reached from other machines, and traffic is neither encrypted nor authenticated: "
      "add --insecure if the network is trusted, or listen on 127.0.0.1"));
}

}  // namespace gg
