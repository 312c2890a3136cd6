// SPDX-License-Identifier: Apache-2.0
#include "platform/host.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/status.h"

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

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  const size_t colon = text.rfind(':');
  HostPort out;
  const absl::string_view port = colon == absl::string_view::npos ? "" : text.substr(colon + 1);
  if (colon == absl::string_view::npos || colon == 0 ||
      !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
      !absl::SimpleAtoi(port, &out.port) || out.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not host:port with a port from 0 to 65535"));
  }
  absl::string_view host = text.substr(0, colon);
  const bool brackets = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (!brackets && (absl::StrContains(host, ':') || text[0] == '[')) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': an IPv6 address goes in brackets, as in [::1]:7000"));
  }
  in6_addr ignored;
  out.host = std::string(host);
  if (host.empty() || (brackets && inet_pton(AF_INET6, out.host.c_str(), &ignored) != 1)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' names no host"));
  }
  return out;
}

absl::StatusOr<bool> IsLoopback(absl::string_view listen) {
  GG_ASSIGN_OR_RETURN(const HostPort parsed, ParseHostPort(listen));
  if (parsed.host == "localhost" || parsed.host == "::1") return true;
  // A name such as 127.example.org may stand for any machine.
  in_addr address;
  if (inet_pton(AF_INET, parsed.host.c_str(), &address) != 1) return false;
  return ntohl(address.s_addr) >> 24 == 127;
}

uint64_t UniqueBits() {
  uint64_t bits = 0;
  if (getentropy(&bits, sizeof bits) == 0) return bits;
  return static_cast<uint64_t>(absl::ToUnixNanos(absl::Now())) ^ static_cast<uint64_t>(getpid());
}

}  // namespace gg
