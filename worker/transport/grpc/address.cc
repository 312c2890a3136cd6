// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/status.h"

namespace gg {

std::string JoinHostPort(absl::string_view host, int port) {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

absl::Status ParseHostPort(absl::string_view text, std::string* host, int* port) {
  const size_t colon = text.rfind(':');
  absl::string_view name = text.substr(0, colon == text.npos ? 0 : colon);
  if (absl::ConsumePrefix(&name, "[") && !absl::ConsumeSuffix(&name, "]")) name = "";
  if (name.empty() || !absl::SimpleAtoi(text.substr(colon + 1), port) || *port < 0 ||
      *port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not host:port (IPv6: [address]:port)"));
  }
  *host = std::string(name);
  return absl::OkStatus();
}

std::string GrpcAddress::ToString() const {
  std::string text = absl::StrCat("grpc:", JoinHostPort(host, port));
  if (!unix_name.empty()) absl::StrAppend(&text, ";unix=", unix_name);
  if (!host_id.empty()) absl::StrAppend(&text, ";host=", host_id);
  return text;
}

absl::StatusOr<GrpcAddress> ParseGrpcAddress(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "grpc:")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not an address of the grpc transport (grpc:host:port;...)"));
  }
  GrpcAddress address;
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, ';');
  GG_RETURN_IF_ERROR(
      Annotate(ParseHostPort(parts[0], &address.host, &address.port), "grpc address"));
  for (absl::string_view part : parts) {
    if (absl::ConsumePrefix(&part, "unix=")) address.unix_name = std::string(part);
    if (absl::ConsumePrefix(&part, "host=")) address.host_id = std::string(part);
  }
  return address;
}

std::string LocalHostId() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64];
  const ssize_t length = readlink("/proc/self/ns/net", space, sizeof(space));
  if (boot.empty() || length <= 0) return "";
  // "net:[4026531840]" -> the number
  absl::string_view number(space, length);
  absl::ConsumePrefix(&number, "net:[");
  absl::ConsumeSuffix(&number, "]");
  return absl::StrCat(boot, "+", number);
}

absl::StatusOr<std::vector<DialTarget>> ResolveTargets(const GrpcAddress& peer,
                                                       absl::string_view own_host_id) {
  std::vector<DialTarget> targets;
  sockaddr_un local = {};
  if (!peer.unix_name.empty() && !own_host_id.empty() && peer.host_id == own_host_id &&
      peer.unix_name.size() + 1 < sizeof(local.sun_path)) {
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path + 1, peer.unix_name.data(), peer.unix_name.size());
    DialTarget target;
    std::memcpy(&target.address, &local, sizeof(local));
    target.length = offsetof(sockaddr_un, sun_path) + 1 + peer.unix_name.size();
    target.text = "unix socket";
    targets.push_back(std::move(target));
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = absl::StrCat(peer.port);
  int error = getaddrinfo(peer.host.c_str(), port.c_str(), &hints, &found);
  if (error == EAI_NONAME) {  // not an IP address: ask the resolver
    hints.ai_flags = AI_NUMERICSERV;
    error = getaddrinfo(peer.host.c_str(), port.c_str(), &hints, &found);
  }
  if (error != 0 && targets.empty()) {
    return absl::UnavailableError(
        absl::StrCat("cannot resolve '", peer.host, "': ", gai_strerror(error)));
  }
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    DialTarget target;
    std::memcpy(&target.address, info->ai_addr, info->ai_addrlen);
    target.length = info->ai_addrlen;
    target.text = absl::StrCat("tcp ", JoinHostPort(peer.host, peer.port));
    targets.push_back(std::move(target));
  }
  if (found != nullptr) freeaddrinfo(found);
  return targets;
}

}  // namespace gg
