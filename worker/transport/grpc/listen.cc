// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/listen.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/transport/grpc/channel_args.h"

namespace gg {
namespace {

// gRPC does not say why it could not listen: the system does, when it is asked for the same.
std::string WhyNoPort(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = absl::StrCat(port);
  if (const int error = getaddrinfo(host.c_str(), service.c_str(), &hints, &found); error != 0) {
    return gai_strerror(error);
  }
  std::string why = "the server could not be started";
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, 1) != 0) {
    why = strerror(errno);
  }
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return why;
}

bool IsWildcard(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

// Unlike any other of this network namespace, in which processes of several process namespaces may
// live.
std::string MakeUnixName() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return absl::StrCat("gossipgrad-", getpid(), "-",
                      absl::Hex(std::chrono::nanoseconds(now).count()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Make(const std::string& listen,
                                                         const std::string& advertise_host,
                                                         bool unix_socket) {
  std::unique_ptr<Listener> made(new Listener);
  std::string host;
  int port = 0;
  GG_RETURN_IF_ERROR(Annotate(ParseHostPort(listen, &host, &port), "address to listen on"));
  if (IsWildcard(host) && advertise_host.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("listening on ", listen,
                     " needs an address that peers are told to use: name one of this host's"));
  }
  made->address_.host = advertise_host.empty() ? host : advertise_host;
  made->address_.host_id = LocalHostId();
  grpc::ServerBuilder builder;
  SetLinkArguments(&builder);
  builder.AddListeningPort(JoinHostPort(host, port), grpc::InsecureServerCredentials(),
                           &made->address_.port);
  int bound = 1;
  if (unix_socket) {
    made->address_.unix_name = MakeUnixName();
    builder.AddListeningPort(absl::StrCat("unix-abstract:", made->address_.unix_name),
                             grpc::InsecureServerCredentials(), &bound);
  }
  builder.RegisterAsyncGenericService(&made->service_);
  made->queue_ = builder.AddCompletionQueue();
  made->server_ = builder.BuildAndStart();
  if (made->server_ == nullptr || made->address_.port == 0 || bound == 0) {
    if (made->server_ != nullptr) made->server_->Shutdown();
    made->queue_->Shutdown();
    void* tag;
    bool ok;
    while (made->queue_->Next(&tag, &ok)) {
    }
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", listen, ": ", WhyNoPort(host, port)));
  }
  return made;
}

void Listener::Shutdown() {
  server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace gg
