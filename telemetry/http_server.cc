// SPDX-License-Identifier: Apache-2.0
#include "telemetry/http_server.h"

#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/sync.h"

namespace gg {
namespace {

struct Reply {
  int code;
  const char* reason;
  absl::string_view content_type;
  std::string body;
};

// Each unfinished request holds a thread until its time is up, which counts from its first byte to
// its last: sixty such clients are gone within two rounds, and probes come through in between.
constexpr char kThreads[] = "32";
constexpr char kRequestTimeoutMs[] = "1000";

constexpr char kPlain[] = "text/plain; charset=utf-8";

Reply Probe(const std::function<absl::Status()>& check) {
  const absl::Status status = check ? check() : absl::OkStatus();
  if (status.ok()) return {200, "OK", kPlain, "ok\n"};
  return {503, "Service Unavailable", kPlain, absl::StrCat(status.message(), "\n")};
}

class Server final : public HttpServer {
 public:
  explicit Server(HttpServerOptions options) : options_(std::move(options)) {}

  ~Server() override {
    if (context_ == nullptr) return;
    // mg_stop() waits for CivetWeb's accepting thread, which looks up every two seconds or when a
    // client comes: so one comes, until it has noticed.
    bool stopped = false;
    Monitor monitor;
    std::thread visitor([&] {
      MutexLock lock(&monitor.mu);
      while (!stopped) {
        Visit();
        RealClock().Await(
            monitor, [&] { return stopped; }, RealClock().Now() + absl::Milliseconds(5));
      }
    });
    mg_stop(context_);
    {
      MutexLock lock(&monitor.mu);
      stopped = true;
      monitor.changed.NotifyAll();
    }
    visitor.join();
  }

  absl::Status Start() {
    const size_t colon = options_.listen.rfind(':');
    int wanted = 0;
    if (colon == std::string::npos || colon == 0 ||
        !absl::SimpleAtoi(options_.listen.substr(colon + 1), &wanted) || wanted < 0 ||
        wanted > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat("HTTP address '", options_.listen, "' is not HOST:PORT"));
    }
    host_ = options_.listen.substr(0, colon);
    // CivetWeb wants numbers; the one name that is common is allowed.
    numeric_host_ = host_ == "localhost" ? "127.0.0.1" : host_;
    const std::string ports = absl::StrCat(numeric_host_, ":", wanted);
    const char* settings[] = {"listening_ports",
                              ports.c_str(),  //
                              "num_threads",
                              kThreads,  //
                              "request_timeout_ms",
                              kRequestTimeoutMs,  //
                              "enable_keep_alive",
                              "no",  //
                              "linger_timeout_ms",
                              "0",  //
                              nullptr};
    mg_callbacks callbacks{};
    callbacks.begin_request = &Server::OnRequest;
    callbacks.log_message = &Server::OnLog;
    context_ = mg_start(&callbacks, this, settings);
    if (context_ == nullptr) {
      MutexLock lock(&mu_);
      return absl::UnavailableError(
          absl::StrCat("HTTP server cannot listen on ", options_.listen, ": ",
                       last_message_.empty() ? "no reason given" : last_message_));
    }
    mg_server_port bound{};
    if (mg_get_server_ports(context_, 1, &bound) != 1) {
      return absl::InternalError("HTTP server does not tell its port");
    }
    port_ = bound.port;
    return absl::OkStatus();
  }

  std::string address() const override { return absl::StrCat(host_, ":", port_); }
  int port() const override { return port_; }

 private:
  // Connects and closes again at once.
  void Visit() const {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    std::string host = numeric_host_;
    if (!host.empty() && host.front() == '[') host = host.substr(1, host.size() - 2);
    if (getaddrinfo(host.c_str(), absl::StrCat(port_).c_str(), &hints, &found) != 0) return;
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
      // Non-blocking: the kernel completes the handshake by itself.
      (void)connect(fd, found->ai_addr, found->ai_addrlen);
      close(fd);
    }
    freeaddrinfo(found);
  }

  static Server& Self(const mg_connection* connection) {
    return *static_cast<Server*>(mg_get_user_data(mg_get_context(connection)));
  }

  static int OnRequest(mg_connection* connection) {
    const mg_request_info* request = mg_get_request_info(connection);
    const absl::string_view method = request->request_method;
    const char* accept = mg_get_header(connection, "Accept");
    const Reply reply =
        Self(connection).Answer(method, request->local_uri, accept == nullptr ? "" : accept);
    mg_printf(connection,
              "HTTP/1.1 %d %s\r\nContent-Type: %.*s\r\nContent-Length: %zu\r\n"
              "Cache-Control: no-store\r\nVary: Accept\r\nConnection: close\r\n\r\n",
              reply.code, reply.reason, static_cast<int>(reply.content_type.size()),
              reply.content_type.data(), reply.body.size());
    if (method != "HEAD") mg_write(connection, reply.body.data(), reply.body.size());
    return reply.code;
  }

  static int OnLog(const mg_connection* connection, const char* message) {
    // Only start-up failures are of interest: what a client does wrong is no concern of the
    // daemon's log.
    Server& self = Self(connection);
    MutexLock lock(&self.mu_);
    self.last_message_ = message;
    return 1;
  }

  Reply Answer(absl::string_view method, const char* uri, absl::string_view accept) const {
    if (method != "GET" && method != "HEAD") {
      return {405, "Method Not Allowed", kPlain, "only GET and HEAD\n"};
    }
    const absl::string_view path = uri == nullptr ? "" : uri;
    if (path == "/metrics") {
      const MetricsFormat format = NegotiateMetricsFormat(accept);
      return {200, "OK", ContentTypeOf(format), options_.metrics(format)};
    }
    if (path == "/livez") return Probe(options_.live);
    if (path == "/readyz") return Probe(options_.ready);
    return {404, "Not Found", kPlain, "there are /metrics, /livez and /readyz\n"};
  }

  const HttpServerOptions options_;
  std::string host_;
  std::string numeric_host_;
  int port_ = 0;
  mg_context* context_ = nullptr;
  Mutex mu_;
  std::string last_message_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(HttpServerOptions options) {
  auto server = std::make_unique<Server>(std::move(options));
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

}  // namespace gg
