// SPDX-License-Identifier: Apache-2.0
#include "platform/host.h"

#include <unistd.h>

#include <climits>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace gg {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  return name;
}

std::string BootId() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

std::string ExecutableFolder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof path) return "";
  const std::string whole(path, static_cast<size_t>(length));
  const size_t slash = whole.rfind('/');
  return slash == std::string::npos ? "" : slash == 0 ? "/" : whole.substr(0, slash);
}

absl::StatusOr<bool> IsLoopback(absl::string_view listen) {
  const size_t colon = listen.rfind(':');
  int port = -1;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(listen.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", listen, "' is not host:port with a port from 0 to 65535"));
  }
  const absl::string_view host = listen.substr(0, colon);
  if (absl::StrContains(host, ':') && !(absl::StartsWith(host, "[") && absl::EndsWith(host, "]"))) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", listen, "': an IPv6 address goes in brackets, as in [::1]:7000"));
  }
  return host == "localhost" || host == "[::1]" || absl::StartsWith(host, "127.");
}

uint64_t UniqueBits() {
  uint64_t bits = 0;
  if (getentropy(&bits, sizeof bits) == 0) return bits;
  return static_cast<uint64_t>(absl::ToUnixNanos(absl::Now())) ^ static_cast<uint64_t>(getpid());
}

}  // namespace gg
