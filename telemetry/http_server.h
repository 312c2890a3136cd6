// SPDX-License-Identifier: Apache-2.0
//
// The small HTTP server of every daemon: /metrics for Prometheus, /livez and /readyz for probes and
// people. Anything else is 404, any method but GET and HEAD is 405. Each request is answered and
// its connection closed; a client that sends or reads slowly is cut off after a second and holds one
// of some thirty threads meanwhile. Thread-safety: thread-safe after Start. The callbacks run
// on the server's threads, several at once.
#ifndef GOSSIPGRAD_TELEMETRY_HTTP_SERVER_H_
#define GOSSIPGRAD_TELEMETRY_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "telemetry/metrics_format.h"

namespace gg {

struct HttpServerOptions {
  // "host:port"; port 0 lets the kernel choose. IPv6 hosts in brackets.
  std::string listen = "127.0.0.1:0";
  // Body of /metrics in the format that the request asks for.
  std::function<std::string(MetricsFormat)> metrics;
  // OK answers 200 "ok", an error 503 with the message. /livez must not depend on other daemons,
  // /readyz may.
  std::function<absl::Status()> live;
  std::function<absl::Status()> ready;
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;          // waits for requests in progress
  virtual std::string address() const = 0;  // "host:port" with the real port
  virtual int port() const = 0;
};

// kInvalidArgument: `listen` is not host:port. kUnavailable: cannot listen there, with the reason.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(HttpServerOptions options);

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_HTTP_SERVER_H_
